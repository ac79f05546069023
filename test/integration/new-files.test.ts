// npm run new, in a copy of this tree: what it writes passes types, lint, import rules and its own tests at once.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const copy = mkdtempSync(join(tmpdir(), 'porthole-new-'));
after(() => rmSync(copy, { recursive: true, force: true }));
const typesSeen = '.cache/types.tsbuildinfo';
/** Of what is remembered only the types that were right: what is compiled is kept by its path. */
const notCopied = new Set(['node_modules', '.git', 'dist', 'lib', '.cache']);
cpSync('.', copy, { recursive: true, filter: (from) => !notCopied.has(relative('.', from)) });
symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
mkdirSync(join(copy, '.cache'));
// Packages are where they were, which is elsewhere for the copy; of what is not found again all is looked at.
if (existsSync(typesSeen))
  writeFileSync(
    join(copy, typesSeen),
    readFileSync(typesSeen, 'utf8').replaceAll(
      '"../node_modules/',
      `"${relative(join(realpathSync(copy), '.cache'), realpathSync('node_modules'))}/`,
    ),
  );

function run(
  program: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly output: string } {
  // A test that starts tests is not told of by its own.
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
  const env = { ...rest, NODE_COMPILE_CACHE: join(copy, '.cache/compiled') };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: copy, encoding: 'utf8', env });
  return { status, output: `${stdout}${stderr}` };
}
const node = (...args: readonly string[]): ReturnType<typeof run> => run(process.execPath, ...args);
const passes = ({ status, output }: ReturnType<typeof run>, what: string): void =>
  assert.equal(status, 0, `${what}:\n${output}`);

const written: string[] = [];
function write(...args: readonly string[]): string {
  const result = node('tools/new.ts', ...args);
  passes(result, args.join(' '));
  written.push(...result.output.split('\n').filter((line) => /^(src|test)\/\S+$/.test(line)));
  return result.output;
}

/** What the server publishes of a kind that somebody defined in a cluster. */
async function publishedDocument(): Promise<string> {
  const { ask, close } = await startTestControlPlane();
  const spec = {
    type: 'object',
    properties: {
      cronSpec: { type: 'string', pattern: '.+', description: `When,\nas \`* * * * *\` or C:\\time \${it}` },
      replicas: { type: 'integer' },
    },
  };
  const made = await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'crontabs.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
  assert.equal(made.status, 201, made.text);
  let answer = await ask('GET', '/openapi/v3/apis/stable.example.com/v1');
  while (answer.status === 404) {
    await new Promise((resolve) => setImmediate(resolve));
    answer = await ask('GET', '/openapi/v3/apis/stable.example.com/v1');
  }
  await close();
  return answer.text;
}

test('a kind, one of a document, a controller, plugins and a command are written', async () => {
  write('kind', 'Widget', '--group', 'example.com', '--cluster');
  write('kind', 'Gadget', '--group', 'example.com');
  // Kind and plural of the same names in other groups.
  for (const group of ['second.example.com', 'third.example.com']) write('kind', 'Gadget', '--group', group);
  writeFileSync(join(copy, 'crontab.json'), await publishedDocument());
  const said = write('kind', 'CronTab', '--openapi', 'crontab.json');
  assert.match(said, /a rule of the document that types do not hold, for validate: spec\.cronSpec: pattern/);
  rmSync(join(copy, 'crontab.json'));
  write('controller', 'counter');
  write('plugin', 'scheduler', 'own-zone');
  write('plugin', 'admission', 'made-by');
  write('command', 'census');
  const resources = readFileSync(join(copy, 'src/api/generated/resources.ts'), 'utf8');
  assert.match(resources, /widgets: ResourceRef<Widget> = .* namespaced: false/);
  assert.match(
    resources,
    /crontabs: ResourceRef<CronTab> = \{ group: 'stable.example.com', .* namespaced: true/,
  );
  const described = readFileSync(join(copy, 'src/api/descriptions/cron-tab-stable-v1.ts'), 'utf8');
  assert.match(described, / {2}cronSpec: When, as '\* \* \* \* \*' or C:\\\\time \$ \{it\}\.\n/);
});

test('what is there is not written over, and what is not understood says how', () => {
  const again = node('tools/new.ts', 'command', 'census');
  assert.match(again.output, /src\/cmd\/commands\/census.ts is there already/);
  assert.equal(again.status, 1);
  const unknown = node('tools/new.ts', 'thing', 'x');
  assert.match(unknown.output, /^usage: npm run new -- /);
  assert.equal(unknown.status, 1);
});

test('types, lint, generated files and import rules find nothing wrong', () => {
  passes(
    run('node_modules/ts7/bin/tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', typesSeen),
    'types',
  );
  const biome = 'node_modules/@biomejs/biome/bin/biome';
  passes(
    node(biome, 'check', '--error-on-warnings', ...written.filter((file) => file.endsWith('.ts'))),
    'lint',
  );
  passes(node('tools/gen/all.ts', '--check'), 'generated files');
  const cruise = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
  const rules = node(cruise, '--config', '.dependency-cruiser.mjs', 'src');
  passes(rules, 'import rules');
  assert.ok(Number(/\((\d+) modules/.exec(rules.output)?.[1]) > 100, rules.output);
});

test('its tests pass, and those that compare lists with folders, rights with calls and kinds with their data', () => {
  const tests = written.filter((file) => file.endsWith('.test.ts'));
  assert.equal(tests.length, 10, tests.join(', '));
  const lists = [
    'src/api/scheme.test.ts',
    'src/api/protobuf.test.ts',
    'src/api/openapi.test.ts',
    'src/controllers/registry.test.ts',
    'src/controllers/controller-roles.test.ts',
    'test/repo/controller-access.test.ts',
    'test/repo/descriptions.test.ts',
    'test/integration/bootstrap.test.ts',
  ];
  // In one process, which reads and compiles once what they share.
  passes(node('--test', '--test-isolation=none', ...tests, ...lists), 'tests');
});
