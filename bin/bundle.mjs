// One bundle starts in 0.1-0.2 s where the sources take seconds. Made anew when a source is newer. Plain JavaScript.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;

/** Programs that run as files of their own: the command line, a cluster's supervisor, the threads of the store and of YAML, the Wine runtime handler. */
export const entries = {
  porthole: 'src/cmd/main.ts',
  supervisor: 'src/cmd/supervisor/supervisor-main.ts',
  'sqlite-writer': 'src/storage/sqlite/sqlite-writer.ts',
  'yaml-worker': 'src/component-base/yaml-worker.ts',
  'wine-handler': 'src/emulation/wine/handler-main.ts',
};

function newestSource(directory) {
  let newest = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(path));
    else if (!entry.name.endsWith('.test.ts')) newest = Math.max(newest, statSync(path).mtimeMs);
  }
  return newest;
}

/** Path of the bundle's main file; bundles first when it is missing or stale. */
export async function ensureBundle() {
  const main = `${dist}/porthole.mjs`;
  const newest = Math.max(
    newestSource(`${root}src`),
    statSync(`${root}package-lock.json`).mtimeMs,
    statSync(fileURLToPath(import.meta.url)).mtimeMs,
  );
  if (existsSync(main) && statSync(main).mtimeMs >= newest) return main;
  const { build } = await import('esbuild');
  const scratch = `${dist}.new-${process.pid}`;
  mkdirSync(scratch, { recursive: true });
  try {
    await build({
      absWorkingDir: root,
      entryPoints: Object.entries(entries)
        .filter(([, file]) => existsSync(`${root}${file}`))
        .map(([out, file]) => ({ in: file, out })),
      outdir: scratch,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      target: 'node24',
      format: 'esm',
      minifyWhitespace: true,
      minifySyntax: true,
      legalComments: 'none',
      sourcemap: true,
      external: ['esbuild'],
      define: { PORTHOLE_BUNDLED: 'true' },
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
      logLevel: 'warning',
    });
    for (const name of readdirSync(scratch)) {
      mkdirSync(dist, { recursive: true });
      // The main file last: who sees it new sees the others new.
      if (!name.startsWith('porthole.')) renameSync(`${scratch}/${name}`, `${dist}/${name}`);
    }
    renameSync(`${scratch}/porthole.mjs.map`, `${dist}/porthole.mjs.map`);
    renameSync(`${scratch}/porthole.mjs`, main);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return main;
}
