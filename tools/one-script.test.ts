// A program of several files as one script: what it reads later are modules that share its parts, and errors name its file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { build } from 'esbuild';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { intoOneScript } from './one-script.mjs';

const scratch = scratchDirectory('one-script');
after(() => scratch.remove());

const sources = {
  'shared.ts': `export class Shared { static made = 0; constructor() { Shared.made++; } }`,
  'other.ts': `import { readFileSync } from "node:fs";
const own = () => readFileSync(new URL('data.txt', import.meta.url), 'utf8') + /\u00b5/.test('\u00b5');
export { own };`,
  'old.cjs': `module.exports = { events: require('events').EventEmitter.name };`,
  'later.ts': `import old from "./old.cjs";
import { Shared } from "./shared.ts";
const isShared = (one: unknown) => one instanceof Shared && new Shared() && old.events + Shared.made;
const word = 'by default';
export { isShared, word as default };`,
  'unused.ts': `export const never = 'never read';`,
  'program.ts': `import { own } from "./other.ts";
import { Shared } from "./shared.ts";
const fails = function () { return (this === undefined) + ' ' + new Error('where').stack; };
const later = await1();
async function await1() {
  const { isShared, default: word } = await import("./later.ts");
  return [isShared(new Shared()), word, own(), fails()];
}
void later.then((said) => process.stdout.write(JSON.stringify(said)));
if (process.argv.length > 99) void import("./unused.ts");`,
};

test('later modules get the script’s own parts; it is strict, reads ASCII, knows where it is, and is named in errors', async () => {
  const out = join(scratch.path, 'dist');
  for (const [file, text] of Object.entries(sources)) writeFileSync(join(scratch.path, file), text);
  const banner = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`;
  const bundled = await build({
    absWorkingDir: scratch.path,
    entryPoints: { program: 'program.ts' },
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    minifyWhitespace: true,
    sourcemap: true,
    metafile: true,
    banner: { js: banner },
  });
  await intoOneScript('program', bundled, out, banner);
  writeFileSync(join(out, 'data.txt'), 'data ');
  const script = join(out, 'program.cjs');
  assert.match(readFileSync(script, 'latin1'), /^[\x00-\x7f]+$/);
  const loader = new URL('../src/cmd/own-script.ts', import.meta.url).href;
  const program = `import { runOwnScript } from '${loader}'; runOwnScript('${script}', '${join(out, 'none/none')}');`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  const [shared, word, own, fails] = JSON.parse(stdout) as [string, string, string, string];
  assert.deepEqual([shared, word, own], ['EventEmitter2', 'by default', 'data true']);
  assert.match(fails, /^true Error: where\n.*dist\/program\.cjs:\d+:\d+/);
  // The entry is in the script alone; the part that both have is there once, and as its stand-in.
  const modules = readdirSync(out).filter((name) => name.endsWith('.mjs'));
  assert.ok(!modules.includes('program.mjs'), modules.join(' '));
  assert.equal(modules.filter((name) => readFileSync(join(out, name), 'utf8').includes('made')).length, 1);
});
