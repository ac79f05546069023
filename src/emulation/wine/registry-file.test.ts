// Offline edits of Wine's registry text.
import assert from 'node:assert/strict';
import test from 'node:test';
import { RegistryFile } from './registry-file.ts';

const text = `WINE REGISTRY Version 2
;; All keys relative to \\\\Machine

#arch=win64

[Software\\\\Acme] 1700000000
#time=1da000
"Blob"=hex:01,02,\\
  03,04
"Name"="old"
@="default"

[Software\\\\Acme\\\\Sub] 1700000001
"x"=dword:00000001

[Software\\\\AcmeOther] 1700000002
"y"="\\xe9"
`;

test('a file that is not edited keeps its bytes', () => {
  assert.equal(new RegistryFile(text).toString(), text);
});

test('a value is replaced whatever its letter case, with its continuation lines', () => {
  const registry = new RegistryFile(text);
  registry.set('software\\acme', 'BLOB', 16);
  registry.set('Software\\Acme', 'Name', 'C:\\a "b"');
  registry.set('Software\\Acme', '', { expand: '%TEMP%' });
  const result = registry.toString();
  assert.ok(!result.includes('03,04'));
  assert.ok(result.includes('"BLOB"=dword:00000010'));
  assert.ok(result.includes('"Name"="C:\\\\a \\"b\\""'));
  assert.ok(result.includes('@=str(2):"%TEMP%"'));
  assert.ok(!result.includes('"old"'));
});

test('a new key is made', () => {
  const registry = new RegistryFile(text);
  registry.set('System\\New', 'v', 'w');
  assert.ok(registry.toString().endsWith('[System\\\\New] 0\n"v"="w"\n'));
  assert.ok(registry.has('SYSTEM\\new'));
});

test('deleting a key takes what is below it and nothing beside it', () => {
  const registry = new RegistryFile(text);
  registry.delete('Software\\Acme');
  assert.deepEqual(registry.keysBelow('software'), ['Software\\AcmeOther']);
  assert.ok(registry.toString().includes('"y"="\\xe9"'));
});

test('names of built-in properties are ordinary key names', () => {
  const registry = new RegistryFile(text);
  registry.set('__proto__', 'constructor', 1);
  assert.ok(registry.has('__proto__'));
  assert.equal(({} as Record<string, unknown>)['constructor'], Object);
});
