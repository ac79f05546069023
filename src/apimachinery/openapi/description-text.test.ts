// How descriptions are written down.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDescriptionText } from './description-text.ts';

test('a line that is indented is of a field, and of all types that the line above names', () => {
  const text = `
Small Large: A size: of something.
  $ref: C:\\path is kept.
  x-kubernetes-map-type: A field.

None: No fields.
`;
  assert.deepEqual(parseDescriptionText(text), [
    { types: ['Small', 'Large'], field: undefined, text: 'A size: of something.' },
    { types: ['Small', 'Large'], field: '$ref', text: 'C:\\path is kept.' },
    { types: ['Small', 'Large'], field: 'x-kubernetes-map-type', text: 'A field.' },
    { types: ['None'], field: undefined, text: 'No fields.' },
  ]);
});

for (const line of [
  'A type and no colon',
  '  field:',
  'A.b: Dots are of no name.',
  '  two names: For one field.',
])
  test(`is refused: ${line}`, () => {
    assert.throws(() => parseDescriptionText(`A: Is.\n${line}`), /neither a type nor a field: /);
  });
