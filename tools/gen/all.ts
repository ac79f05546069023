// npm run gen: writes every generated file; with --check it only says whether they are fresh.
import { readdirSync, readFileSync } from 'node:fs';

const generated = new URL('../../src/api/generated/', import.meta.url);

function snapshot(): Map<string, string> {
  const files = readdirSync(generated, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    files.map((file) => [
      `${file.parentPath}/${file.name}`,
      readFileSync(`${file.parentPath}/${file.name}`, 'utf8'),
    ]),
  );
}

const before = snapshot();
await import('./types.ts');
const after = snapshot();
const stale = [...new Set([...before.keys(), ...after.keys()])].filter(
  (name) => before.get(name) !== after.get(name),
);
if (process.argv.includes('--check') && stale.length > 0) {
  console.log(`stale until now: ${stale.join(', ')}`);
  process.exitCode = 1;
}
