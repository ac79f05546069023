// npm run new refuses names that would not work, in one line and with nothing written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { scratchDirectory } from '../harness/scratch.ts';

const { path: root, remove } = scratchDirectory('new-names');
after(remove);
const edited = [
  'biome.json',
  'src/api',
  'src/cmd/command-registry.ts',
  'src/controllers/registry.ts',
  'src/scheduler/plugins/registry.ts',
  'src/plugins/admission/registry.ts',
];
for (const path of edited) cpSync(path, join(root, path), { recursive: true });
symlinkSync(resolve('node_modules'), join(root, 'node_modules'));

const patchFile = join(root, 'src/controllers/eviction/eviction-patch.ts');
mkdirSync(dirname(patchFile), { recursive: true });
writeFileSync(patchFile, '');

const files = (): string[] =>
  (readdirSync(join(root, 'src'), { recursive: true }) as string[])
    .map((path) => `${path} ${statSync(join(root, 'src', path)).mtimeMs}`)
    .sort();
const runNew = (...args: readonly string[]) =>
  spawnSync(process.execPath, [resolve('tools/new.ts'), ...args], { cwd: root, encoding: 'utf8' });

const refused: [string[], RegExp][] = [
  [['controller', '9x'], /^"9x" is no name: it takes letters/],
  [['controller', ''], /^"" is no name/],
  [['command', '../x'], /^"\.\.\/x" is no name/],
  [['plugin', 'scheduler', 'a b'], /^"a b" is no name/],
  [['plugin', 'admission', '-x-', '--'], /^Unknown option '-x'$/],
  [['kind', 'Tea', '--group', 'Bad_Group!'], /^"Bad_Group!" is no group/],
  [['kind', 'Tea', '--group', '3scale.net'], /^"3scale\.net" is no group/],
  [['kind', 'Tea', '--group', ''], /^say --group, or --openapi/],
  [
    ['kind', 'Tea', '--group', 'tea.example.com', '--version', '3'],
    /^"3" is no version: it takes v1, v1beta1/,
  ],
  [['kind', 'tea-pot', '--group', 'tea.example.com'], /^"tea-pot" is no kind: it takes CamelCase/],
  [['kind', 'Tea', '--group', 'tea.example.com', '--plural', 'tea-s'], /^"tea-s" is no plural/],
  [['kind', 'Tea', '--group', 'apps.example.com'], /^src\/api\/apps is not of apps\.example\.com: it takes/],
  [['kind', 'Tea', '--group', 'schema.example.com'], /^src\/api\/schema is not of schema\.example\.com/],
  [['kind', 'Tea', '--group', 'tea.example.com', '--plural', 'new'], /^"new" is no plural: it is a word of/],
  [['plugin', 'scheduler', 'class'], /^"class" is no name: it is a word of JavaScript$/],
  [
    ['kind', 'DeploymentSpec', '--group', 'apps'],
    /would have a type apps\.v1\.DeploymentSpec, and another one is/,
  ],
  // Its other files are not there.
  [['controller', 'eviction'], /^src\/controllers\/eviction\/eviction-patch\.ts is there already$/],
  [['command', 'x', '--colour'], /^Unknown option '--colour'$/],
];

test('what is no name, group, version, kind, plural or flag is refused before anything is written', () => {
  const before = files();
  for (const [args, message] of refused) {
    const { status, stderr } = runNew(...args);
    assert.match(stderr.trimEnd(), message);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assert.equal(status, 1);
    assert.deepEqual(files(), before, args.join(' '));
  }
});

test('a name too many is not passed over', () => {
  const before = files();
  const { status, stderr } = runNew('command', 'job', 'counter');
  assert.match(stderr, /^usage: npm run new -- /);
  assert.equal(status, 1);
  assert.deepEqual(files(), before);
});

test('names of one and of several words are taken', () => {
  for (const name of ['census', 'job-counter', 'PodAge']) {
    const { status, stderr } = runNew('command', name);
    assert.equal(status, 0, stderr);
  }
});
