// Of a bundled program all that it reads at each start as one classic script: of such a one V8 gives what it has compiled by then, of modules only what it
// compiled as they were loaded. What is read later stays modules. Plain JavaScript.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';

/** Where the script leaves what later modules import of it: they are other files, and there must not be two of anything. */
const parts = 'globalThis[Symbol.for("porthole.parts")]';

/** What `entry` imports, itself last; what it imports when it is asked to is not part of it. */
function readAtStart(outputs, entry, seen = new Set()) {
  for (const { path, kind, external } of outputs[entry].imports)
    if (kind === 'import-statement' && !external && !seen.has(path)) readAtStart(outputs, path, seen);
  return seen.add(entry);
}

/** A module of what the script has: with the names by which the module in its place was imported. */
function standIn(name, names) {
  const constants = names.map((exported, i) => `x${i}=p[${JSON.stringify(exported)}]`);
  const exported = names.map((exported, i) => `x${i} as ${exported}`);
  return `const p=${parts}[${JSON.stringify(name)}],${constants.join(',')};export{${exported.join(',')}};\n`;
}

/** Any letter that is not ASCII would make V8 keep two bytes for each: esbuild leaves those of regular expressions. */
const ascii = (text) =>
  text.replace(/[^\x00-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * `bundled`: what esbuild answered for the program as modules in `folder`, with `banner` before each. In their place: `<name>.cjs`, a function of
 * how to require, its own address, what keeps the compiled code, how to import and who takes the command, and modules that stand in for those of its parts that later ones import.
 */
export async function intoOneScript(name, { metafile: { outputs } }, folder, banner) {
  const entry = Object.keys(outputs).find((path) => basename(path) === `${name}.mjs`);
  const within = readAtStart(outputs, entry);
  const wanted = new Set();
  for (const [path, { imports }] of Object.entries(outputs))
    if (!within.has(path)) for (const one of imports) if (within.has(one.path)) wanted.add(one.path);
  const files = [...wanted].map((path) => basename(path));
  const contents = `${files.map((file, i) => `import * as p${i} from './${file}';`).join('\n')}
import './${name}.mjs';
${parts}={${files.map((file, i) => `'${file}':p${i}`).join(',')}};`;
  // As long as what it replaces: what is in which column is still true.
  const forScript = ({ onLoad }) =>
    onLoad({ filter: /[.]mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(banner, '')
        .replaceAll(/\bimport\("[.]\//g, '$later("./'),
    }));
  await build({
    stdin: { contents, resolveDir: folder, sourcefile: `${name}-parts.mjs` },
    outfile: `${folder}/${name}.cjs`,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    sourcemap: true,
    define: { 'import.meta.url': 'PORTHOLE_SCRIPT_URL' },
    banner: {
      js: '(function(require,PORTHOLE_SCRIPT_URL,PORTHOLE_KEEP_COMPILED,$later,PORTHOLE_TAKE){"use strict";',
    },
    footer: { js: '})' },
    plugins: [{ name: 'for-script', setup: forScript }],
    logLevel: 'warning',
  });
  const script = `${folder}/${name}.cjs`;
  writeFileSync(script, ascii(readFileSync(script, 'utf8')));
  for (const path of within) {
    const file = `${folder}/${basename(path)}`;
    rmSync(`${file}.map`);
    if (wanted.has(path)) writeFileSync(file, standIn(basename(path), outputs[path].exports));
    else rmSync(file);
  }
}
