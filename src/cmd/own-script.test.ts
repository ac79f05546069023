// A script and what is kept of it as compiled: taken when it is of this very script and written by us, else never run, and written anew.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runOwnScript } from './own-script.ts';

const scratch = mkdtempSync(join(tmpdir(), 'own-script-'));
after(() => rmSync(scratch, { recursive: true }));

const wrapped = (body: string): string =>
  `(function(require,PORTHOLE_SCRIPT_URL,PORTHOLE_KEEP_COMPILED,$later){"use strict";${body}})`;

/** Says `word`, by a function that is compiled when it is called. */
const saying = (word: string): string =>
  wrapped(`const say=()=>process.stdout.write('${word}');say();PORTHOLE_KEEP_COMPILED()`);

const asModule = ['--input-type=module', '--eval'];

interface Place {
  readonly file: string;
  readonly folder: string;
  /** For a Node, which is new each time: V8 does not look at kept code of what it has compiled itself already. */
  readonly program: string;
  /** What it said. */
  run(...args: string[]): string;
  /** The one file that is kept. */
  kept(): string;
}

function place(text: string): Place {
  const root = mkdtempSync(join(scratch, 'place-'));
  const [file, folder] = [join(root, 'program.cjs'), join(root, 'compiled')];
  writeFileSync(file, text);
  const program = `import { runOwnScript } from ${JSON.stringify(new URL('./own-script.ts', import.meta.url).href)};
if (!runOwnScript(${JSON.stringify(file)}, ${JSON.stringify(folder)})) process.exitCode = 3;`;
  return {
    file,
    folder,
    program,
    run: (...args) => {
      const { stdout, stderr, status } = spawnSync(process.execPath, [...asModule, program, ...args], {
        encoding: 'utf8',
      });
      assert.deepEqual([status, stderr], [0, '']);
      return stdout;
    },
    kept: () => {
      const names = readdirSync(folder);
      assert.equal(names.length, 1, names.join(' '));
      return join(folder, names[0]!);
    },
  };
}

test('what one start has compiled the next one takes, and does not write again', () => {
  const { run, kept } = place(saying('one'));
  assert.equal(run(), 'one');
  const { ino, mode } = statSync(kept());
  assert.equal(mode & 0o777, 0o600);
  assert.equal(run(), 'one');
  assert.equal(statSync(kept()).ino, ino);
});

const numbered = (which: number): string => Array.from({ length: 200 }, (_, i) => `'${which} ${i}'`).join();

test('functions that were called by then are in it', () => {
  const lazy = `const late=()=>[${numbered(0)}];`;
  const sizes = ['', 'late();'].map((call) => {
    const { run, kept } = place(wrapped(`${lazy}${call}PORTHOLE_KEEP_COMPILED();`));
    run();
    return statSync(kept()).size;
  });
  assert.ok(sizes[1]! > sizes[0]! + 2_000, sizes.join(' '));
});

test('a day later it is kept anew: what other starts have compiled comes to what it had', () => {
  const lazy = Array.from({ length: 2 }, (_, which) => `const late${which}=()=>[${numbered(which)}];`).join(
    '',
  );
  const text = `${lazy}process.argv[1]==='0'?late0():late1();PORTHOLE_KEEP_COMPILED();`;
  const { run, kept } = place(wrapped(text));
  run('0');
  const { size } = statSync(kept());
  run('1');
  assert.equal(statSync(kept()).size, size);
  const yesterday = Date.now() / 1_000 - 25 * 3_600;
  utimesSync(kept(), yesterday, yesterday);
  run('1');
  assert.ok(statSync(kept()).size > size + 2_000, `${size} ${statSync(kept()).size}`);
});

/** Code of a script that is as long as that at `file`, which is all that V8 looks at, under that one's name. */
function otherCode(header: 'its own' | 'of the script', file: string): void {
  const other = place(saying('bad'));
  other.run();
  const code = readFileSync(other.kept());
  if (header === 'of the script') code.set(readFileSync(file).subarray(0, 4), 0);
  writeFileSync(file, code);
}

const damages: Record<string, (file: string) => void> = {
  'that is empty': (file) => truncateSync(file),
  'that ends in its header': (file) => truncateSync(file, 5),
  'that is cut off': (file) => truncateSync(file, statSync(file).size - 1),
  'with one other bit': (file) => {
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
  },
  'of another script': (file) => otherCode('its own', file),
  'that others may write to': (file) => {
    otherCode('of the script', file);
    chmodSync(file, 0o620);
  },
  'that has a second name': (file) => {
    otherCode('of the script', file);
    linkSync(file, join(scratch, 'second'));
  },
  'that is a link': (file) => {
    otherCode('of the script', file);
    const target = join(scratch, 'target');
    renameSync(file, target);
    symlinkSync(target, file);
  },
};
if (process.getuid?.() === 0)
  damages['that is another’s'] = (file) => {
    otherCode('of the script', file);
    chownSync(file, 65_534, 65_534);
  };

for (const [what, damage] of Object.entries(damages))
  test(`compiled code ${what} is not run, and is written anew`, () => {
    const { run, kept } = place(saying('one'));
    run();
    const file = kept();
    damage(file);
    const { ino } = statSync(file);
    assert.equal(run(), 'one');
    assert.notEqual(statSync(kept()).ino, ino);
    assert.equal(run(), 'one');
  });

test('code that is our own and of this script is run: what the tests above put there is', () => {
  const { run, kept } = place(saying('one'));
  run();
  otherCode('of the script', kept());
  assert.equal(run(), 'bad');
});

test('where nothing can be written it runs all the same, and leaves nothing', () => {
  const { run, folder } = place(saying('one'));
  writeFileSync(folder, 'a file');
  assert.equal(run(), 'one');
  assert.equal(readFileSync(folder, 'utf8'), 'a file');
});

test('without a folder it runs, and is kept nowhere', () => {
  const { run, program, folder } = place(saying('one'));
  const homeless = program.replace(JSON.stringify(folder), 'undefined');
  assert.equal(spawnSync(process.execPath, [...asModule, homeless], { encoding: 'utf8' }).stdout, 'one');
  assert.ok(!existsSync(folder));
  assert.equal(run(), 'one');
});

test('a file that is not there is no program', () => {
  assert.equal(runOwnScript(join(scratch, 'none.cjs'), join(scratch, 'compiled')), false);
  assert.ok(!existsSync(join(scratch, 'compiled')));
});

/** Old compiled code of other versions: the higher the number, the younger. */
function keepMany(folder: string, file: string, nameOf: (i: number) => string): void {
  for (let i = 0; i < 40; i++) {
    const copy = join(folder, nameOf(i));
    copyFileSync(file, copy);
    utimesSync(copy, i + 1, i + 1);
  }
}
const ofVersion = (i: number): string => `${i.toString(16)}ab-v20.0.${i}-x64`;

test('of many versions the newest are kept, and what is not ours stays', () => {
  const { run, file, folder, kept } = place(saying('0'));
  run();
  const first = kept();
  keepMany(folder, first, ofVersion);
  keepMany(folder, first, (i) => `notes-${i}.txt`);
  writeFileSync(join(folder, `${ofVersion(1)}.12-345`), '');
  utimesSync(join(folder, `${ofVersion(1)}.12-345`), 1, 1);
  writeFileSync(file, saying('1'));
  assert.equal(run(), '1');
  const names = readdirSync(folder);
  const notes = names.filter((name) => name.startsWith('notes-'));
  assert.deepEqual([notes.length, names.length], [40, 40 + 36]);
  assert.ok(existsSync(first) && names.includes(ofVersion(39)) && !names.includes(ofVersion(0)));
  assert.ok(!names.includes(`${ofVersion(1)}.12-345`));
});

const foreign: Record<string, (folder: string) => void> = {
  'that is a link': (folder) => {
    renameSync(folder, `${folder}-target`);
    symlinkSync(`${folder}-target`, folder);
  },
  'that others may write to': (folder) => chmodSync(folder, 0o777),
};
if (process.getuid?.() === 0) foreign['that is another’s'] = (folder) => chownSync(folder, 65_534, 65_534);

for (const [what, change] of Object.entries(foreign))
  test(`in a folder ${what} nothing is kept, and nothing removed`, () => {
    const { run, file, folder, kept } = place(saying('0'));
    run();
    keepMany(folder, kept(), ofVersion);
    change(folder);
    const before = readdirSync(folder);
    writeFileSync(file, saying('1'));
    assert.equal(run(), '1');
    assert.deepEqual(readdirSync(folder), before);
  });

test('several that start at once leave one whole file', async () => {
  const { program, run, kept } = place(saying('one'));
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [...asModule, program], { stdio: ['ignore', 'ignore', 'inherit'] }),
  );
  for (const [code] of await Promise.all(children.map((child) => once(child, 'exit')))) assert.equal(code, 0);
  const { ino } = statSync(kept());
  assert.equal(run(), 'one');
  assert.equal(statSync(kept()).ino, ino);
});
