// The programs as bundles, which start in a tenth of a second where the sources take seconds. Plain JavaScript.
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { intoPlace, keptMs, scratchBeside } from './into-place.mjs';
import { intoOneScript } from './one-script.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
const lib = `${root}lib`;

/** What is read and compiled at each start is made less of. */
function fastStart({ onLoad, onResolve }) {
  // JSON stays text: the engine reads it several times as fast as an object of its language.
  onLoad({ filter: /[/]src[/].*[.]json$/ }, ({ path }) => {
    const json = JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
    return { contents: `export default JSON.parse(${JSON.stringify(json)})` };
  });
  // An import of node:http asks it for each of its names, and one of them loads a whole other client (5 MB).
  onResolve({ filter: /^(node:)?http$/ }, () => ({ path: 'http', namespace: 'builtin' }));
  onLoad({ filter: /./, namespace: 'builtin' }, () => ({
    contents: "module.exports = process.getBuiltinModule('http')",
  }));
}

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  sourcemap: true,
  define: { PORTHOLE_BUNDLED: 'true' },
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  logLevel: 'warning',
  metafile: true,
};

/** What a command does not need is not read: each begins with its own part, and shares others. */
const largePrograms = { porthole: 'src/cmd/main.ts', 'test-cluster': 'src/cmd/test-cluster-main.ts' };

/** Commands of each node and each cluster: a script each, which shares nothing. */
const ownCommands = ['server', 'agent', 'up'];

/** Only to show which commands there are do others read those: of their scripts. */
function ownScripts({ onLoad, onResolve }) {
  const file = new RegExp(`/commands/(${ownCommands.join('|')})[.]ts$`);
  onResolve({ filter: file }, ({ path }) => ({ path: file.exec(path)[1], namespace: 'own' }));
  onLoad({ filter: /./, namespace: 'own' }, ({ path }) => ({
    resolveDir: `${root}src/cmd`,
    contents: `import { runOwn } from './run-own.ts';
let command;
runOwn('${path}', (taken) => { command = taken; });
export const ${path}Command = () => command;`,
  }));
}

/** One file each: they start often, or as threads. */
const smallPrograms = {
  supervisor: 'src/cmd/supervisor/supervisor-main.ts',
  'sqlite-writer': 'src/storage/sqlite/sqlite-writer.ts',
  'yaml-worker': 'src/component-base/yaml-worker.ts',
  'wine-handler': 'src/emulation/wine/handler-main.ts',
};

/** The package's doors: for programs of others, on any Node that has not reached its end. */
const doors = {
  api: 'src/exports/api.ts',
  client: 'src/exports/client.ts',
  testing: 'src/exports/testing.ts',
};

/** Answers which files went into them. */
export async function bundleDoors() {
  const { metafile } = await build({
    ...common,
    target: 'node20',
    outdir: lib,
    entryPoints: doors,
    splitting: true,
    sourcemap: false,
  });
  return Object.keys(metafile.inputs);
}

/** Into `dist`; parts of earlier bundles stay for `keep` ms. Answers which files went into them. */
export async function bundlePrograms(keep = keptMs) {
  const scratch = scratchBeside(dist);
  const pinned = {
    ...common,
    target: 'node24',
    outdir: scratch,
    outExtension: { '.js': '.mjs' },
    plugins: [{ name: 'fast-start', setup: fastStart }],
  };
  const own = async (name) => {
    const entryPoints = { [name]: `src/cmd/own/${name}.ts` };
    const chunkNames = `${name}-[name]-[hash]`;
    const bundled = await build({ ...pinned, entryPoints, chunkNames, splitting: true });
    await intoOneScript(name, bundled, scratch, common.banner.js);
    return bundled;
  };
  try {
    const built = await Promise.all([
      build({
        ...pinned,
        plugins: [...pinned.plugins, { name: 'own-scripts', setup: ownScripts }],
        entryPoints: largePrograms,
        splitting: true,
      }),
      build({ ...pinned, entryPoints: smallPrograms }),
      ...ownCommands.map(own),
    ]);
    intoPlace(scratch, dist, keep);
    return built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
