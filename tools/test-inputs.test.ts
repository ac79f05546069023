// A test's inputs are all that it names, directly or not; who may read anything depends on everything.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { TestInputs } from './test-inputs.ts';

type Tree = Readonly<Record<string, string>>;

/** Says whether the digest of the test `a` is another after the change. */
function digests(context: TestContext, tree: Tree): (change: Tree) => boolean {
  const scratch = scratchDirectory('test-inputs');
  context.after(() => scratch.remove());
  const put = (files: Tree): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(scratch.path, path)), { recursive: true });
      writeFileSync(join(scratch.path, path), text);
    }
  };
  put(tree);
  const look = (): string => new TestInputs(scratch.path).digest('src/a/a.test.ts');
  return (change) => {
    const before = look();
    put(change);
    const after = look();
    for (const path of Object.keys(change)) if (!(path in tree)) rmSync(join(scratch.path, path));
    put(tree);
    assert.equal(look(), before);
    return after !== before;
  };
}

const tree: Tree = {
  'src/a/a.test.ts': "// It's a test.\nimport { b } from '../b/b.ts';\nimport { test } from 'node:test';\n",
  'src/b/b.ts':
    "export { c } from './c.ts';\nexport const d = () => import(\n  './d.ts'\n);\nconst r = new URL('table.json', import.meta.url);\n",
  'src/b/c.ts': `const one = readFileSync(new URL(\`./testdata/\${name}.txt\`, import.meta.url));\n`,
  'src/b/d.ts': `const program = \`import \${JSON.stringify(new URL('./e.ts', import.meta.url).href)}\`;\n`,
  'src/b/e.ts': "readFileSync('docs/read/me.md'); readdirSync('examples/');\n",
  'src/b/f.ts': 'export const f = 1;\n',
  'src/b/table.json': '{}',
  'src/b/testdata/x.txt': 'x',
  'docs/read/me.md': '',
  'docs/other.md': '',
  'examples/x.yaml': '',
};

test('what a test imports, starts and reads, at any distance, decides', (context) => {
  const changes = digests(context, tree);
  for (const path of Object.keys(tree))
    if (path !== 'src/b/f.ts' && path !== 'docs/other.md')
      assert.equal(changes({ [path]: `${tree[path]}// more\n` }), true, path);
  assert.equal(changes({ 'src/b/testdata/y.txt': 'y' }), true, 'a file more in a folder that is read');
  assert.equal(changes({ 'examples/sub/y.yaml': 'y' }), true);
});

test('what it does not name does not decide', (context) => {
  const changes = digests(context, tree);
  assert.equal(changes({ 'src/b/f.ts': 'export const f = 2;\n' }), false);
  assert.equal(changes({ 'docs/other.md': 'x' }), false);
  assert.equal(changes({ 'src/b/g.ts': "import './f.ts';" }), false);
  assert.equal(changes({ '.cache/x.ts': 'x' }), false, 'what programs make');
});

test('who may read anything depends on everything', (context) => {
  for (const line of [
    'readdirSync(import.meta.dirname);',
    "globSync('*.ts');",
    'const root = process.cwd();',
    'await import(where);',
    "const root = new URL('../../', import.meta.url);",
    'const here = fileURLToPath(import.meta.url);',
    'const root = new URL(\n  up,\n  import.meta.url,\n);',
  ]) {
    const changes = digests(context, { ...tree, 'src/b/f.ts': line, 'src/b/e.ts': "import './f.ts';\n" });
    assert.equal(changes({ 'docs/other.md': 'x' }), true, line);
    assert.equal(changes({ 'anything.txt': 'x' }), true, line);
  }
});

test('files that name one another, and names of what is not there, are no trouble', (context) => {
  const changes = digests(context, {
    'src/a/a.test.ts': "import '../b/b.ts'; import '../../../../etc/passwd'; import './absent.ts';\n",
    'src/b/b.ts': "import '../a/a.test.ts';\n",
  });
  assert.equal(changes({ 'src/a/absent.ts': '' }), true, 'it has come to be');
  assert.equal(changes({ 'src/a/other.ts': '' }), false);
});
