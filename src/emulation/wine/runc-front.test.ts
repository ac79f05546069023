// The runc front as a real shell runs it, with programs that only note how they were called.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { runOrThrow } from '../../os/processes.ts';
import { installRuncFront } from './runc-front.ts';

// A folder whose name would break an unquoted script.
const folder = join(mkdtempSync(join(tmpdir(), 'porthole-front-')), "it's $(touch x) here");
const path = (name: string): string => join(folder, name);
mkdirSync(path('state/containers'), { recursive: true });
mkdirSync(path('bundle'));
after(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

/** It notes its call, waits where HOLD names a pipe, and opens the pipe that DONE names before it ends. */
const noting = (name: string): string => `#!/bin/sh
{ printf '%s' ${name}; for a do printf '|%s' "$a"; done; echo; } >> "$NOTES"
[ -z "$HOLD_${name}" ] || read -r _ <"$HOLD_${name}"
[ -z "$DONE_${name}" ] || : >"$DONE_${name}"
[ ! -e "$FAIL_${name}" ]
`;
for (const name of ['runc', 'node', 'mounts']) {
  writeFileSync(path(name), noting(name));
  chmodSync(path(name), 0o755);
}
const front = await installRuncFront(path('state'), 'native', {
  runc: path('runc'),
  node: path('node'),
  handlerMain: path('main.cjs'),
  configFile: path('handler.json'),
  mountsProgram: path('mounts'),
});

beforeEach(() => {
  rmSync(path('notes'), { force: true });
  rmSync(path('state/containers/c1'), { force: true });
});

async function call(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; notes: string[] }> {
  const { code } = await linuxProcesses.run(front, args, {
    env: { NOTES: path('notes'), FAIL_runc: '', FAIL_node: '', FAIL_mounts: '', ...env },
    cwd: folder,
    timeoutMs: 20_000,
  });
  return { code, notes: noted() };
}

function noted(): string[] {
  const notes = existsSync(path('notes')) ? readFileSync(path('notes'), 'utf8').trimEnd().split('\n') : [];
  return notes.map((line) => line.replaceAll(`${folder}/`, ''));
}

async function pipe(name: string): Promise<string> {
  rmSync(path(name), { force: true });
  await runOrThrow(linuxProcesses, 'mkfifo', [path(name)]);
  return path(name);
}

const bundle = (type: string): void =>
  writeFileSync(
    path('bundle/config.json'),
    `{"process":{"env":["A=\\"io.kubernetes.cri.container-type\\":\\"container\\""]},"annotations":{"io.kubernetes.cri.container-type":"${type}"}}`,
  );
const own = (): void => writeFileSync(path('state/containers/c1'), '{}');

test('a path of more than one line is refused when it is installed', async () => {
  const odd = { runc: 'a\nb', node: '', handlerMain: '', configFile: '', mountsProgram: '' };
  await assert.rejects(installRuncFront(path('state'), 'native', odd), /is more than a line/);
});

test('a Windows container is rewritten, then created', async () => {
  bundle('container');
  const args = [
    '--root',
    '/run/x',
    '--log',
    '/l.json',
    '--log-format',
    'json',
    'create',
    '--bundle',
    path('bundle'),
    '--pid-file',
    '/p',
    'c1',
  ];
  const { code, notes } = await call(args);
  assert.equal(code, 0);
  assert.deepEqual(notes, [
    'node|main.cjs|handler.json|create|bundle|c1|/l.json',
    'mounts|bundle/porthole-mounts|runc|--root|/run/x|--log|/l.json|--log-format|json|create|--bundle|bundle|--pid-file|/p|c1',
  ]);
});

test("a sandbox is runc's alone, whatever its environment says", async () => {
  bundle('sandbox');
  const { notes } = await call(['create', '--bundle', path('bundle'), 'c1']);
  assert.deepEqual(notes, ['runc|create|--bundle|bundle|c1']);
});

test('a bundle that cannot be rewritten is not created', async () => {
  bundle('container');
  const { code, notes } = await call(['create', '--bundle', path('bundle'), 'c1'], { FAIL_node: '/' });
  assert.equal(code, 1);
  assert.equal(notes.length, 1);
});

test('exec rewrites the process of a Windows container only', async () => {
  const args = ['exec', '--process', '/tmp/p.json', '--detach', '--pid-file', '/p', 'c1'];
  assert.deepEqual((await call(args)).notes, [`runc|${args.join('|')}`]);
  own();
  rmSync(path('notes'));
  const { notes } = await call(args);
  assert.deepEqual(notes[0], 'node|main.cjs|handler.json|exec|/tmp/p.json|c1|');
  assert.deepEqual(notes[1], `mounts|state/entries/c1|runc|${args.join('|')}`);
});

const term = ['--root', '/run/x', 'kill', 'c1', '15'];

test('TERM becomes a control event; when that cannot be given it stays TERM', async () => {
  own();
  const done = await pipe('done');
  await Promise.all([readFile(done), call(term, { DONE_mounts: done })]);
  assert.equal(noted().length, 1);
  assert.match(
    noted()[0]!,
    /^mounts\|state\/entries\/c1\|runc\|--root\|\/run\/x\|exec\|--cwd\|\/\|--env\|PORTHOLE_CWD=\/\|c1\|\/\.porthole\/confine\|\/usr\/lib\/wine\/wine64\|\\\\\?\\unix\\\.porthole\\ctrl\.exe\|6$/,
  );
  rmSync(path('notes'));
  await Promise.all([readFile(done), call(term, { FAIL_mounts: '/', DONE_runc: done })]);
  assert.equal(noted().at(-1), 'runc|--root|/run/x|kill|c1|15');
});

test('a container whose programs never answer does not hold up the shim: SIGKILL must follow', async () => {
  own();
  const [hold, done] = [await pipe('hold'), await pipe('done')];
  const ended = readFile(done);
  try {
    const { code } = await call(term, { HOLD_mounts: hold, DONE_mounts: done });
    assert.equal(code, 0);
    assert.equal((await call(['kill', 'c1', '9'])).notes.at(-1), 'runc|kill|c1|9');
  } finally {
    await writeFile(hold, '\n');
    await ended;
  }
});

test('other signals and other containers get what was asked', async () => {
  own();
  assert.deepEqual((await call(['kill', '--all', 'c1', '9'])).notes, ['runc|kill|--all|c1|9']);
  rmSync(path('notes'));
  assert.deepEqual((await call(['kill', 'c2', '15'])).notes, ['runc|kill|c2|15']);
});

test('the user of a pod is free again when its sandbox is deleted', async () => {
  for (const folder of ['pods', 'users', 'entries']) mkdirSync(path(`state/${folder}`), { recursive: true });
  writeFileSync(path('state/pods/c1'), '7\n');
  for (const slot of [7, 8]) writeFileSync(path(`state/users/${slot}`), 'c1');
  await call(['delete', 'c1']);
  assert.deepEqual(
    ['pods/c1', 'users/7', 'users/8'].filter((name) => existsSync(path(`state/${name}`))),
    ['users/8'],
  );
});

test('delete forgets the container; ids with slashes are never paths', async () => {
  own();
  await call(['delete', '--force', 'c1']);
  assert.equal(existsSync(path('state/containers/c1')), false);
  writeFileSync(path('victim'), '');
  await call(['delete', '../../victim']);
  assert.ok(existsSync(path('victim')));
});

test('of what a container wrote in place of its exit code no more than a code stays', async () => {
  mkdirSync(path('state/exit-codes'), { recursive: true });
  writeFileSync(path('state/exit-codes/c1'), '4294967295\n');
  truncateSync(path('state/exit-codes/c1'), 2 ** 30);
  await call(['delete', 'c1']);
  assert.match(readFileSync(path('state/exit-codes/c1'), 'latin1'), /^4294967295\n\0{5}$/);
  writeFileSync(path('state/exit-codes/c1'), '7\n');
  await call(['delete', 'c1']);
  assert.equal(readFileSync(path('state/exit-codes/c1'), 'latin1'), '7\n');
  // A container that was never ours.
  assert.equal((await call(['delete', 'c2'])).code, 0);
  assert.equal(existsSync(path('state/exit-codes/c2')), false);
});

test('arguments are passed on exactly, with spaces, quotes and empty ones', async () => {
  const { notes } = await call(['run', 'a b', "it's", '', '$(id)', '*']);
  assert.deepEqual(notes, ["runc|run|a b|it's||$(id)|*"]);
});

test('an option value that looks like a command is no command', async () => {
  const { notes } = await call(['--root', 'create', '--log', 'kill', 'state', 'c1']);
  assert.deepEqual(notes, ['runc|--root|create|--log|kill|state|c1']);
});
