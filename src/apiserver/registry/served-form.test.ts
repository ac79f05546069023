// Stored bytes are served as they are when they are of the version, and were written since its schema is what it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { stampedCopy } from '../../storage/stamp.ts';
import { encodeDraft } from './encode.ts';
import { ServedForm } from './served-form.ts';

const declaration = { group: 'x.com', version: 'v1', kind: 'X' } as ResourceDeclaration;
const stored = (revision: number, version = 'v1'): Buffer => {
  const metadata = {
    name: 'a',
    generateName: '"resourceVersion":"99',
    annotations: { resourceVersion: '98' },
  };
  return stampedCopy(encodeDraft({ kind: 'X', apiVersion: `x.com/${version}`, metadata }), String(revision));
};

test('another version is not served as it is stored, nor what is older than the schema', () => {
  const always = new ServedForm(declaration);
  assert.equal(always.isOf(stored(1)), true);
  assert.equal(always.isOf(stored(1, 'v2')), false);
  const since = new ServedForm({ ...declaration, schemaSince: { revision: 7 } });
  assert.deepEqual(
    [6, 7, 8, 10].map((revision) => since.isOf(stored(revision))),
    [false, false, true, true],
  );
});
