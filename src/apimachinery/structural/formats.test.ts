// Formats of strings, as upstream reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasFormat, isKnownFormat } from './formats.ts';

const cases: readonly (readonly [format: string, good: readonly string[], bad: readonly string[]])[] = [
  ['bsonobjectid', ['507f1f77bcf86cd799439011'], ['507f1f77bcf86cd79943901', 'z07f1f77bcf86cd799439011']],
  ['byte', ['aGk='], ['', 'aGk', 'a b=']],
  ['creditcard', ['4111-1111-1111-1111'], ['4111111111111112', '1']],
  [
    'date-time',
    ['2026-01-01T00:00:00Z', '2026-01-01t00:00:00.5+02:00'],
    ['2026-01-01 00:00:00Z', '2026-01-01'],
  ],
  ['datetime', ['2026-01-01T00:00:00Z'], ['today']],
  ['duration', ['0', '1.5h', '-3m2s', '1 hour', '1 week 2 days', '5 \u00b5s'], ['', 'x', '5', '3 moons']],
  ['hexcolor', ['#FFF', 'a0b1c2'], ['#FFFF', 'red']],
  ['hostname', ['localhost', 'a-b.example.com'], ['a_b.com', 'a.b', 'foo-bar', `${'a'.repeat(64)}.com`]],
  ['isbn', ['0321751043', '978-0321751041'], ['0321751044']],
  ['isbn10', ['0-321-75104-3', '080442957X'], ['978-0321751041']],
  ['isbn13', ['978-0321751041'], ['978-0321751042']],
  ['k8s-long-name', ['a.b-c', 'a'.repeat(253)], ['A.b', 'a..b', 'a'.repeat(254)]],
  ['k8s-short-name', ['a-b', 'a'.repeat(63)], ['a.b', '-a', 'a'.repeat(64)]],
  [
    'mac',
    ['01:23:45:67:89:ab', '01-23-45-67-89-ab-cd-ef', '0123.4567.89ab'],
    ['01:23:45:67:89', '01:23-45:67:89:ab'],
  ],
  ['password', ['', 'x'], []],
  ['rgbcolor', ['rgb(0, 255,12)'], ['rgb(0,256,0)', 'rgb(1,2)']],
  ['ssn', ['123-45-6789'], ['123456789', '12-345-6789']],
  ['uuid3', ['a987fbc9-4bed-3078-cf07-9141ba07c9f3'], ['a987fbc9-4bed-4078-8f07-9141ba07c9f3']],
  ['uuid4', ['A987FBC9-4BED-4078-8F07-9141BA07C9F3'], ['a987fbc9-4bed-4078-cf07-9141ba07c9f3']],
  ['uuid5', ['a987fbc9-4bed-5078-af07-9141ba07c9f3'], ['a987fbc9-4bed-4078-8f07-9141ba07c9f3']],
  ['something', ['anything'], []],
];

for (const [format, good, bad] of cases)
  test(`${format} takes what upstream takes`, () => {
    assert.deepEqual(
      [good.filter((text) => !hasFormat(text, format)), bad.filter((text) => hasFormat(text, format))],
      [[], []],
    );
  });

test('a format is known to values of its type', () => {
  assert.ok(
    isKnownFormat('date-time', 'string') && isKnownFormat('uuid', '') && isKnownFormat('int64', 'integer'),
  );
  assert.ok(isKnownFormat('float', 'number'));
  for (const [format, type] of [
    ['int32', 'string'],
    ['date', 'object'],
    ['double', 'integer'],
    ['x', 'constructor'],
  ] as const)
    assert.equal(isKnownFormat(format, type), false, `${format} of ${type}`);
});
