// What npm packs beside the sources' data: bundles of the programs and of the doors, the doors' types, and whose code is in them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const lib = join(root, 'lib');

/** Only what the doors' types name, which is a small part of all types. */
function writeTypes() {
  const all = mkdtempSync(join(root, '.types-'));
  try {
    const compiler = join(root, 'node_modules/ts7/bin/tsc');
    const project = join(root, 'tools/tsconfig.types.json');
    // what the compiler finds is to be read; npm takes what stands on standard output for its own
    execFileSync(process.execPath, [compiler, '-p', project, '--outDir', all], {
      stdio: ['ignore', process.stderr.fd, 'inherit'],
    });
    const wanted = ['exports/api', 'exports/client', 'exports/testing'];
    for (const name of wanted) {
      // Written for others, who resolve what their program will import.
      const text = readFileSync(join(all, `${name}.d.ts`), 'utf8').replaceAll(
        /(from |import\()'([.][^']+)[.]ts'/g,
        (_, from, path) => {
          const target = join(dirname(name), path);
          if (!wanted.includes(target)) wanted.push(target);
          return `${from}'${path}.js'`;
        },
      );
      mkdirSync(join(lib, dirname(name)), { recursive: true });
      writeFileSync(join(lib, `${name}.d.ts`), text);
    }
  } finally {
    rmSync(all, { recursive: true });
  }
}

/** The licences of the packages whose code is in the bundles, as they ask for. */
function writeNotices(files) {
  const packages = new Set(
    files.flatMap((file) => /.*node_modules[/]((@[^/]+[/])?[^/]+)/.exec(file)?.[0] ?? []),
  );
  const notices = [...packages].sort().map((path) => {
    const folder = join(root, path);
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = readdirSync(folder)
      .filter((file) => /^(licen[cs]e|notice)/i.test(file))
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...text].join('\n\n');
  });
  writeFileSync(join(lib, 'THIRD-PARTY-NOTICES.txt'), `${notices.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

ensureInstalled();
const { bundleDoors, bundlePrograms } = await import('./bundle.mjs');
rmSync(lib, { recursive: true, force: true });
const files = await Promise.all([bundlePrograms(0), bundleDoors()]);
writeTypes();
writeNotices(files.flat());
