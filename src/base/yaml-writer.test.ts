// YAML that is written is read back as the same value, by a reader of 1.1 and of 1.2.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  array,
  assert as check,
  constantFrom,
  dictionary,
  double,
  letrec,
  oneof,
  property,
  string,
} from 'fast-check';
import { parse } from 'yaml';
import { writeYaml } from './yaml-writer.ts';

test('it looks as upstream’s does', () => {
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', labels: {}, annotations: { text: 'one\ntwo\n', yes: 'true', n: '1' } },
    spec: {
      containers: [{ name: 'c', image: 'nginx:1.2', args: ['--a=b', 'c d'], ports: [{ containerPort: 80 }] }],
    },
    status: { conditions: [], ready: true, none: null },
  };
  assert.equal(
    writeYaml(object),
    `apiVersion: v1
kind: Pod
metadata:
  annotations:
    "n": "1"
    text: |
      one
      two
    "yes": "true"
  labels: {}
  name: a
spec:
  containers:
  - args:
    - "--a=b"
    - c d
    image: nginx:1.2
    name: c
    ports:
    - containerPort: 80
status:
  conditions: []
  none: null
  ready: true
`,
  );
});

test('whatever is written is read back', () => {
  const texts = oneof(
    string(),
    string({ unit: 'binary' }),
    string({
      unit: constantFrom(' ', '\n', '-', ':', '#', 'a', '\t', '|', '"', "'", '\u2028', '\u0085', '0'),
    }),
    constantFrom(
      'true',
      'No',
      '1e3',
      '0x1',
      '.inf',
      '~',
      '',
      '- a',
      'a: b',
      'a #b',
      '1:2',
      '2026-01-01',
      '=',
      '<<',
      '\n',
      'a\n\n',
      ' a\nb',
      'a\n b\n',
    ),
  );
  const { value } = letrec((tie) => ({
    value: oneof(
      { depthSize: 'small' },
      texts,
      double({ noNaN: true, noDefaultInfinity: true }).map((d) => (Object.is(d, -0) ? 0 : d)),
      constantFrom(true, false, null),
      array(tie('value'), { maxLength: 4 }),
      dictionary(
        texts.filter((key) => key !== '__proto__'),
        tie('value'),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  }));
  check(
    property(value, (given) => {
      for (const version of ['1.1', '1.2'] as const)
        assert.deepEqual(parse(writeYaml(given), { version, merge: false, logLevel: 'error' }), given);
    }),
    { numRuns: 2_000, seed: 7 },
  );
});
