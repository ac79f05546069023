// npm run gen: writes every generated file; with --check it writes nothing and says whether they are fresh.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatedFiles as apiTypes } from './api-types.ts';
import { generatedFiles as criTypes } from './cri-types.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folders = ['src/api/generated', 'src/rpc-api/generated'];

const wanted: ReadonlyMap<string, string> = new Map([...apiTypes, ...criTypes]);
const there: ReadonlyMap<string, string> = new Map(
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name): [string, string] => [`${folder}/${name}`, readFileSync(join(root, folder, name), 'utf8')]),
  ),
);
const stale = [...new Set([...wanted.keys(), ...there.keys()])].filter(
  (name) => wanted.get(name) !== there.get(name),
);

if (process.argv.includes('--check')) {
  if (stale.length > 0) {
    console.log(`stale: ${stale.join(', ')}`);
    process.exitCode = 1;
  }
} else {
  for (const name of stale) {
    const text = wanted.get(name);
    if (text === undefined) {
      rmSync(join(root, name));
      continue;
    }
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  console.log(`${wanted.size} generated files, ${stale.length} of them changed`);
}
