// What neither the compiler nor the linter sees: names, first lines, words, packages, registries, documents, dead exports.
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { layers, packages, pure } from '../../layers.mjs';

const folders = ['src', 'test', 'tools', 'bench', 'bin', 'examples'];
const text: ReadonlyMap<string, string> = new Map(
  [
    ...folders.map((folder) => `${folder}/**/*.{ts,mjs,c,h,sh}`),
    'native/**/*.{c,h,sh}',
    '*.mjs',
    '*.md',
    'docs/**/*.md',
  ]
    .flatMap((pattern) => globSync(pattern))
    .filter((file) => !file.includes('node_modules/'))
    .sort()
    .map((file): [string, string] => [file, readFileSync(file, 'utf8')]),
);
const own = 'test/repo/tidy.test.ts';
const isScript = (file: string): boolean => /\.(ts|mjs)$/.test(file);
const isGenerated = (file: string): boolean => file.includes('/generated/');
const isTest = (file: string): boolean =>
  /\.(test|bench|e2e)\.ts$|\/testing\/|^(test|bench|tools)\//.test(file);

/** `file:line: what is there`, for each line of these files on which the pattern matches. */
const hits = (pattern: RegExp, chosen: (file: string) => boolean): string[] =>
  [...text]
    .filter(([file]) => file !== own && chosen(file))
    .flatMap(([file, content]) =>
      content
        .split('\n')
        .flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}: ${line.trim().slice(0, 100)}`] : [])),
    );

test('the first line of each file says what it is', () => {
  const silent = [...text]
    .filter(([file]) => !file.endsWith('.md'))
    .filter(([, content]) => {
      const first = content.startsWith('#!') ? content.slice(content.indexOf('\n') + 1) : content;
      return !/^(\/\/|\/\*|#) \S+ \S+ /.test(first);
    })
    .map(([file]) => file);
  assert.deepEqual(silent, []);
});

test('a file is named after what is in it', () => {
  const banned = /^(index|utils?|helpers?|common|misc|types|manager)\.(ts|mjs)$/;
  assert.deepEqual(
    [...text.keys()].filter((file) => banned.test(basename(file))),
    [],
  );
  const unlike = [...text.keys()].filter(
    (file) => isScript(file) && !/^\.?[a-z0-9]+([-.][a-z0-9]+)*\.(ts|mjs)$/.test(basename(file)),
  );
  assert.deepEqual(unlike, [], 'kebab-case');
});

test('nothing is left to be done, and no path or host of one machine is written down', () => {
  assert.deepEqual(
    hits(/\b(TODO|FIXME|XXX|HACK)\b/, () => true),
    [],
  );
  assert.deepEqual(
    hits(/(^|[^\w./-])\/(home|work|Users)\/\w/, () => true),
    [],
  );
  const lock = readFileSync('package-lock.json', 'utf8');
  const resolved = [...lock.matchAll(/"resolved": "https?:\/\/([^/"]+)/g)].map((match) => match[1]);
  assert.deepEqual(
    resolved.filter((host) => host !== 'registry.npmjs.org'),
    [],
  );
});

test('no shell runs a command line', () => {
  assert.deepEqual(
    hits(/shell: *true|\bexecSync\(['"`]|import .*\bexec(Sync)?\b.*child_process/, isScript),
    [],
  );
});

test('which system this is, only src/cmd and src/os ask', () => {
  // The sample's program is text that runs in a container.
  const asks = (file: string): boolean =>
    file.startsWith('src/') && !/^src\/(cmd|os)\//.test(file) && file !== 'src/images/sample-web-server.ts';
  assert.deepEqual(hits(/\bprocess\.platform\b/, asks), []);
});

test('which system a node is, only src/kubelet/node-os knows: the rest of the kubelet asks what it can do', () => {
  const isAsked =
    /['"`](linux|windows)['"`]|\b(linux|windows)[A-Z]\w*\b|\b\w+(Linux|Windows)\b|\boperatingSystem *[!=]==/;
  for (const planted of [
    "os === 'windows'",
    'if (isWindows)',
    'windowsHostPath(path)',
    'x.operatingSystem === y',
  ])
    assert.match(planted, isAsked);
  const asks = (file: string): boolean => /^src\/kubelet\/(?!node-os\/).*\.ts$/.test(file) && !isTest(file);
  assert.deepEqual(hits(isAsked, asks), [], 'make it a member of NodeOs, answered by both of its files');
});

test('the kubelet starts programs in src/kubelet/containerd alone', () => {
  const starts = (file: string): boolean =>
    /^src\/kubelet\/(?!containerd\/).*\.ts$/.test(file) && !isTest(file);
  assert.deepEqual(hits(/os\/processes|\bhost\.processes\b|'processes'/, starts), []);
});

test('the client knows no kind but Event', () => {
  const resources = (file: string): boolean => file.startsWith('src/client/') && !isTest(file);
  assert.deepEqual(
    hits(/generated\/resources/, resources).map((hit) => hit.replace(/:\d+/, '')),
    ["src/client/event-recorder.ts: import { events } from '../api/generated/resources.ts';"],
  );
});

test('tests of components freeze what informers hold', () => {
  // Of the informers themselves, and where the frozen ones are made.
  const homes = ['src/client/cache/informer-factory.test.ts', 'test/harness/frozen-informers.ts'];
  assert.deepEqual(
    hits(/\bcreateInformerFactory\b/, (file) => isTest(file) && !homes.includes(file)),
    [],
  );
});

/** Whether the comment at a file's top says so. */
const saysPure = (file: string): boolean => {
  const lines = (text.get(file) ?? '').split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return /\bpure\b/i.test(lines.slice(0, end).join(' '));
};

test('a file that says it is pure waits for nothing, and asks neither machine, clock nor network', () => {
  const impure =
    /^(?!\s*(\/\/|\*|\/\*)).*(\basync\b|\bawait\b)|^(import (?!type\b)|\} from ).*'(node:(?!path')|.*\/(os|wire|storage|client)\/(?!grpc-client|event-recorder))/;
  for (const planted of [
    'export async function f() {}',
    "import { readFileSync } from 'node:fs';",
    "} from '../os/linux/files-linux.ts';",
  ])
    assert.match(planted, impure);
  const claims = (file: string): boolean => file.startsWith('src/') && !isTest(file) && saysPure(file);
  assert.ok([...text.keys()].filter(claims).length > 50);
  assert.deepEqual(hits(impure, claims), []);
});

test('what a README calls pure says so itself', () => {
  const called = globSync('src/*/README.md').flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => /^\| ([^|]*) \| pure:|^(pure functions .*)/.exec(line))
      .flatMap((row) => [...(row?.[1] ?? row?.[2] ?? '').matchAll(/`([\w./-]+\.ts)`/g)])
      .map(([, name]) => join(dirname(file), name!)),
  );
  assert.ok(called.length > 8, called.join());
  assert.deepEqual(
    called.filter((file) => !saysPure(file)),
    [],
  );
});

test('where Wine lies, one file knows', () => {
  const home = 'src/emulation/wine/wine-paths.ts';
  const path =
    /usr\/lib\/wine|usr\/share\/wine|\/wine64|wineserver64|x86_64-windows|['"`]\/wp\b|['"`]\/\.porthole/;
  assert.deepEqual(
    hits(path, (file) => /^(src\/|native\/.*\.sh$)/.test(file) && !isTest(file) && file !== home),
    [],
  );
});

test('time and randomness come in as arguments', () => {
  // Homes of the real ones; sockets, whose timers Node owns; processes that stand alone.
  const homes = /^src\/(component-base|wire|cmd|emulation|os)\//;
  const asked =
    /\b(Date\.now|Math\.random|setTimeout|setInterval|performance\.now|randomUUID)\(|\bnew Date\(\)|timers\/promises/;
  assert.deepEqual(
    hits(asked, (file) => file.startsWith('src/') && !isTest(file) && !homes.test(file)),
    [],
  );
});

test('a unit test mocks by its own context: files share a process', () => {
  assert.deepEqual(
    hits(/import \{.*\bmock\b.*\} from 'node:test'/, (file) =>
      /^(src|tools|test\/repo)\/.*\.test\.ts$/.test(file),
    ),
    [],
  );
});

test('what is pure knows neither the process nor bytes of Node', () => {
  const inPure = (file: string): boolean =>
    pure.some((folder) => file.startsWith(`src/${folder}/`)) && !isTest(file);
  assert.deepEqual(hits(/\bprocess\.(env|cwd|pid|on|exit)\b|\bfetch\(/, inPure), []);
});

test('each list equals its folder', () => {
  const registries: readonly (readonly [registry: string, folder: string, members: RegExp])[] = [
    ['src/controllers/registry.ts', 'src/controllers', /-controller\.ts$/],
    ['src/scheduler/plugins/registry.ts', 'src/scheduler/plugins', /./],
    ['src/plugins/admission/registry.ts', 'src/plugins/admission', /./],
    ['src/cmd/command-registry.ts', 'src/cmd/commands', /./],
    ['src/kubelet/volumes/plugins/registry.ts', 'src/kubelet/volumes/plugins', /./],
    ['src/cmd/compose/node-runtimes.ts', 'src/cmd/compose', /-node\.ts$/],
    ['src/network/topologies/registry.ts', 'src/network/topologies', /./],
    ['src/apiserver/filters/filter-order.ts', 'src/apiserver/filters', /^(?!filter\.ts)/],
  ];
  for (const [registry, folder, members] of registries) {
    const there = readdirSync(folder)
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== basename(registry))
      .filter((name) => members.test(name))
      .map((name) => `${folder}/${name}`);
    const listed = importsOf(registry)
      .map((one) => one.target)
      .filter((target) => dirname(target) === folder && members.test(basename(target)));
    assert.deepEqual([...new Set(listed)].sort(), there.sort(), registry);
  }
});

test('a package that is imported stands in package.json, in layers.mjs and in the decision on libraries; no other does', () => {
  // None is installed by who installs this package: what it uses of them is in its bundles.
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    dependencies?: unknown;
    devDependencies: Record<string, string>;
  };
  assert.equal(dependencies, undefined, 'dependencies of package.json');
  const imported = new Map<string, boolean>();
  for (const [file, content] of text) {
    if (!isScript(file)) continue;
    for (const match of content.matchAll(
      /(?:^import |^\} from |^export .* from |\bimport\()[^'\n]*'([^'.$/][^'$\n]*)'/gm,
    )) {
      const name = match[1]!
        .split('/')
        .slice(0, match[1]!.startsWith('@') ? 2 : 1)
        .join('/');
      if (name.startsWith('node:') || builtinModules.includes(name) || name === 'porthole') continue;
      imported.set(name, (imported.get(name) ?? false) || (file.startsWith('src/') && !isTest(file)));
    }
  }
  const shipped = [...imported].filter(([, production]) => production).map(([name]) => name);
  assert.deepEqual(shipped.sort(), Object.keys(packages).sort(), 'packages of layers.mjs');
  const tools = ['typescript', 'ts7', 'esbuild', '@biomejs/biome', 'dependency-cruiser'];
  const inTests = [...imported]
    .filter(([name, production]) => !production && !tools.includes(name))
    .map(([name]) => name);
  assert.deepEqual(
    [...shipped, ...inTests, ...tools].sort(),
    Object.keys(devDependencies)
      .filter((name) => !name.startsWith('@types/'))
      .sort(),
    'devDependencies of package.json',
  );
  const decision = text.get('docs/adr/0002-libraries.md') ?? '';
  for (const name of [...shipped, ...inTests, ...tools])
    assert.ok(decision.includes(`\`${name}\``), `docs/adr/0002-libraries.md does not name ${name}`);
  for (const [name, version] of Object.entries(devDependencies))
    assert.match(version, /^(npm:\w+@)?\d+\.\d+\.\d+$/, `${name} is pinned`);
});

test('each folder of src has a floor and a README of less than 60 lines', () => {
  const there = readdirSync('src');
  assert.deepEqual(there.sort(), Object.keys(layers).sort());
  for (const folder of there) {
    const file = `src/${folder}/README.md`;
    assert.ok(existsSync(file), `${file} is missing`);
    const content = readFileSync(file, 'utf8');
    assert.ok(content.startsWith(`# ${folder}\n`), `${file} begins with the folder's name`);
    assert.ok(content.split('\n').length < 60, `${file} is too long`);
  }
});

test('the floors of the architecture page are those of layers.mjs', () => {
  const rows = (text.get('docs/ARCHITECTURE.md') ?? '')
    .split('\n')
    .filter((line) => /^\| \d \| `/.test(line));
  const named = rows.flatMap((row) =>
    [...row.split('|')[2]!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
  );
  assert.deepEqual(named.sort(), Object.keys(layers).sort());
});

test('links of documents lead somewhere', () => {
  for (const [file, content] of text) {
    if (!file.endsWith('.md')) continue;
    for (const [, target] of content
      .replaceAll(/```[\s\S]*?```/g, '')
      .matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      assert.ok(existsSync(join(dirname(file), target!)), `${file} links to ${target}, which does not exist`);
    }
  }
});

test('decisions are numbered without gaps, and each says Context, Decision and Consequences', () => {
  const files = readdirSync('docs/adr').sort();
  assert.deepEqual(
    files.map((name) => Number(name.slice(0, 4))),
    files.map((_, i) => i + 1),
  );
  for (const name of files.slice(2)) {
    const content = readFileSync(`docs/adr/${name}`, 'utf8');
    assert.match(content, new RegExp(`^# ${Number(name.slice(0, 4))}\\. `), name);
    for (const part of ['Context', 'Decision', 'Consequences'])
      assert.ok(content.includes(`**${part}.**`), `${name}: ${part}`);
  }
});

interface Import {
  readonly target: string;
  readonly names: readonly string[];
}

function importsOf(file: string): Import[] {
  const content = text.get(file) ?? readFileSync(file, 'utf8');
  const from = /\b(?:import|export)\s+(?:type\s+)?([^;'"]*?)\s*from\s*'(\.[^']+)'|\bimport\(?\s*'(\.[^']+)'/g;
  return [...content.matchAll(from)].map(([, clause, target, whole]) => ({
    target: normalize(join(dirname(file), target ?? whole!)),
    names:
      clause === undefined || clause.includes('*')
        ? ['*']
        : (/\{([^}]*)\}/.exec(clause)?.[1] ?? '')
            .split(',')
            .map(
              (name) =>
                name
                  .trim()
                  .replace(/^type /, '')
                  .split(' as ')[0]!,
            )
            .filter((name) => name !== ''),
  }));
}

/** Functions that may have one name in several files, and why. */
const sharedNames: Readonly<Record<string, string>> = {
  forbidden: "upstream's own two: a cause of a 422 (field.Forbidden) and an answer (errors.NewForbidden)",
  notFound: "upstream's own two: field.NotFound and errors.NewNotFound",
  textResponse: 'the API server and the kubelet answer with types of their own',
};

test('a question has one home: no two files of src export a function of one name', () => {
  const homes = new Map<string, Set<string>>();
  for (const [file, content] of text) {
    if (!file.startsWith('src/') || !isScript(file) || isTest(file) || isGenerated(file)) continue;
    const exported =
      /^export (?:async )?function\*? (\w+)|^export const (\w+)[^=]*= (?:async )?(?:<[^>]*>)?\([^;]*?=>/gm;
    for (const [, declared, assigned] of content.matchAll(exported)) {
      const name = declared ?? assigned!;
      homes.set(name, (homes.get(name) ?? new Set()).add(file));
    }
  }
  const several = [...homes].filter(([, files]) => files.size > 1);
  assert.deepEqual(
    several.filter(([name]) => !Object.hasOwn(sharedNames, name)).map(([name, files]) => [name, ...files]),
    [],
    'one of them is renamed, or both become one',
  );
  assert.deepEqual(
    Object.keys(sharedNames).filter((name) => !several.some(([one]) => one === name)),
    [],
    'allowed, and not there any more',
  );
});

test('nothing is exported that nobody uses', () => {
  const used = new Set(
    [...text.keys()]
      .filter(isScript)
      .flatMap((file) =>
        importsOf(file).flatMap(({ target, names }) => names.map((name) => `${target}#${name}`)),
      ),
  );
  const dead: string[] = [];
  for (const [file, content] of text) {
    if (!/^(src|test|tools)\/.*\.ts$/.test(file) || isGenerated(file) || used.has(`${file}#*`)) continue;
    if (file.startsWith('src/exports/')) continue;
    const exported = /^export (?:async )?(const|let|function\*?|class|interface|type) (\w+)/gm;
    for (const [, kind, name] of content.matchAll(exported)) {
      if (used.has(`${file}#${name}`)) continue;
      // A type may stand in a signature that is exported; whoever calls it need not name it.
      const uses = content.split(new RegExp(`\\b${name}\\b`)).length - 2;
      if (uses === 0 || !/^(interface|type)$/.test(kind!)) dead.push(`${file}: ${kind} ${name}`);
    }
  }
  assert.deepEqual(dead, []);
});
