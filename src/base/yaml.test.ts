// YAML is read as kubectl reads it, and no text of a few megabytes holds the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseYaml, readYamlBody, toYaml, yamlToJson } from './yaml.ts';

test('the first document is read, and objects survive being written and read', () => {
  assert.deepEqual(parseYaml('a: [x, "1", yes]\n---\n}{ : *what\n'), { a: ['x', '1', 'yes'] });
  assert.deepEqual(parseYaml('# a\n%YAML 1.2\n---\na: 1\n...\nb: 2'), { a: 1 });
  for (const nothing of ['', '# a\n', '---\n---\na: 1']) assert.equal(parseYaml(nothing), null);
  assert.throws(() => parseYaml('a: 1\nb: [\n'), /^Error: line 3, column 1: Flow sequence/);
  const object = { a: { b: ['x', 1, true, null], c: 'yes\n' } };
  assert.deepEqual(parseYaml(toYaml(object)), object);
});

test('a key that comes twice is refused with its line', () => {
  assert.throws(() => parseYaml('a: 1\nb:\n  c: 1\n  c: 2\n'), /line 4: key "c" already set in map/);
  assert.throws(() => parseYaml('{"a": 1, "a": 2}'), /key "a" already set in map/);
  assert.deepEqual(parseYaml('a:\n  c: 1\nb:\n  c: 2\n'), { a: { c: 1 }, b: { c: 2 } });
});

test('keys that are names of JavaScript are data', () => {
  const read = parseYaml('__proto__: {x: 1}\nconstructor: y\n') as Record<string, unknown>;
  assert.deepEqual(Object.keys(read), ['__proto__', 'constructor']);
  assert.equal(({} as Record<string, unknown>)['x'], undefined);
});

test('texts that would cost minutes are refused at once, or read in a moment', () => {
  const bombs: Record<string, string> = {
    'a list of millions': `a: [${'x,'.repeat(1_500_000)}]`,
    'a map of hundreds of thousands': Array.from({ length: 300_000 }, (_, i) => `a${i}: 1`).join('\n'),
    'escaped line ends': `a: "${'\\\n'.repeat(1_500_000)}"`,
    'nested flow': '['.repeat(100_000),
    'nested blocks': `${'- '.repeat(20_000)}x`,
    'billion laughs': `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghi']
      .map((c, i) => `${c}: &${c} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[i]}`).join(',')}]`)
      .join('\n')}`,
    'many aliases': `- &a x\n${'- *a\n'.repeat(60_000)}`,
  };
  for (const [name, text] of Object.entries(bombs)) assert.throws(() => parseYaml(text), Error, name);
  const many = parseYaml(Array.from({ length: 20_000 }, (_, i) => `a${i}: 1`).join('\n')) as object;
  assert.equal(Object.keys(many).length, 20_000);
});

test('forms that are read in more than linear time are refused before they are read', () => {
  const nines = '9'.repeat(2_900_000);
  const forms: readonly (readonly [string, RegExp])[] = [
    [`data: {a: ${nines}}`, /line 1: cannot unmarshal !!int `9999999\.\.\.` into float64/],
    [`a:\n  b: !!int "${nines}"`, /line 2: cannot unmarshal !!int/],
    ['? '.repeat(100_000), /exceeded max depth/],
    ['- '.repeat(100_000), /exceeded max depth/],
    [`a: >\n${'  b\n\n'.repeat(500_000)}`, /the document is too complex/],
    [Array.from({ length: 100_000 }, (_, i) => `- &a${i} x`).join('\n'), /excessive aliasing/],
    ['? '.repeat(20), /invalid map key: map/],
    ['? [a]\n: b', /invalid map key: \[\]interface/],
  ];
  for (const [text, says] of forms) assert.throws(() => parseYaml(text), says, text.slice(0, 20));
  assert.deepEqual(parseYaml(`a: "${'9'.repeat(500)}"\nb: 12\n`), { a: '9'.repeat(500), b: 12 });
  assert.deepEqual(parseYaml('a: &k x\n*k : y\n'), { a: 'x', x: 'y' });
});

test('what is tagged as binary is the text that it stands for, of any length, as upstream', () => {
  const long = 'x'.repeat(3000);
  const base64 = Buffer.from(long).toString('base64');
  assert.deepEqual(parseYaml(`a: !!binary ${base64}`), { a: long });
  const lines = base64.replaceAll(/.{60}/g, (line) => `${line}\n  `);
  assert.deepEqual(parseYaml(`a: !!binary |\n  ${lines}`), { a: long });
  assert.deepEqual(parseYaml(`a: !<tag:yaml.org,2002:binary> "aGVsbG8="\nb: !mine ${long}`), {
    a: 'hello',
    b: long,
  });
  // Of upstream's own tests, and one where JavaScript would write one sign for two bytes.
  assert.equal(yamlToJson('a: !!binary gIGC'), '{"a":"\ufffd\ufffd\ufffd"}');
  assert.equal(yamlToJson('a: !!binary 4oJhw6k='), '{"a":"\ufffd\ufffdaé"}');
  for (const bad of ['x', 'aGVsbG8', 'aGVs bG8=', '"a=bc"'])
    assert.throws(() => parseYaml(`a: !!binary ${bad}`), /!!binary value contains invalid base64 data/, bad);
});

test('aliases do not make much of little, and tags that the library knows cost no more than others', () => {
  const laughs = `a: &a "${'x'.repeat(100_000)}"\nb:\n${'- *a\n'.repeat(60)}`;
  assert.throws(() => yamlToJson(laughs), /document contains excessive aliasing/);
  assert.equal((JSON.parse(yamlToJson(laughs.replace(/x+/, 'x'))) as { b: unknown[] }).b.length, 60);
  const pairs = Array.from({ length: 20_000 }, (_, i) => `- a${i}: 1`).join('\n');
  for (const tag of ['!!omap', '!!pairs']) {
    const before = process.cpuUsage();
    assert.equal((parseYaml(`a: ${tag}\n${pairs}`) as { a: unknown[] }).a.length, 20_000);
    assert.ok(process.cpuUsage(before).user < 2_000_000, tag);
  }
  assert.equal(
    yamlToJson('a: !!set {x, y}\nb: !!timestamp 2001-01-01'),
    '{"a":{"x":null,"y":null},"b":"2001-01-01"}',
  );
});

test('one long key that comes again and again by an alias is not told whole each time', () => {
  const { repeated } = readYamlBody(`? &a ${'x'.repeat(20_000)}\n: 1\n${'*a : 2\n'.repeat(90)}`);
  assert.equal(repeated.length, 90);
  assert.ok(repeated.join().length < 90 * 1_100);
});
