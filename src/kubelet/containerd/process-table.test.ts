// What is read of processes: of a pod's, who their parent is and nothing that they wrote themselves.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Files } from '../../os/files.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { childrenOfAll, processesWithArgument } from './process-table.ts';

const isRoot = process.getuid?.() === 0;
const marker = `is-looked-for-${process.pid}`;
/** Most of what a program may be started with. */
const emptyArguments = Array.from({ length: 150_000 }, () => '');

/** Says what was read through it, and how many bytes of each. */
function watchedFiles(): { readonly files: Files; readonly read: ReadonlyMap<string, number> } {
  const read = new Map<string, number>();
  const noted = async <T extends Buffer | undefined>(path: string, reading: Promise<T>): Promise<T> => {
    const content = await reading;
    read.set(path, content?.length ?? 0);
    return content;
  };
  const files: Files = {
    ...linuxFiles,
    read: (path, options) => noted(path, linuxFiles.read(path, options)),
    readIfThere: (path, options) => noted(path, linuxFiles.readIfThere(path, options)),
    readHead: (path, maxBytes) => noted(path, linuxFiles.readHead(path, maxBytes)),
  };
  return { files, read };
}

/** While a program runs that has more arguments than anybody looks at, `before` put before it. */
async function withLongOne<T>(
  before: readonly string[],
  body: (child: ChildProcess) => Promise<T>,
): Promise<T> {
  const script = "console.log('up'); setInterval(() => {}, 1000)";
  const words = ['-e', script, '--', marker, ...emptyArguments];
  const [program, ...args] = [...before, process.execPath, ...words];
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    await once(child.stdout, 'data');
    return await body(child);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

test('of a long command line the beginning is read', async () => {
  await withLongOne([], async ({ pid }) => {
    const { files, read } = watchedFiles();
    const found = await processesWithArgument(files, marker);
    assert.deepEqual(
      found.map((one) => one.pid),
      [pid],
    );
    assert.equal(read.get(`/proc/${pid}/cmdline`), 64 << 10);
  });
});

test('no command line of a process in other namespaces is read, as a pod’s; whose child it is, is known', {
  skip: isRoot ? false : 'needs root to make namespaces',
}, async () => {
  await withLongOne(['unshare', '--pid', '--mount', '--fork', '--kill-child=KILL'], async ({ pid }) => {
    const { files, read } = watchedFiles();
    assert.equal((await processesWithArgument(files, marker)).length, 0);
    const [inside, ...others] = (await childrenOfAll(linuxFiles)).get(pid!) ?? [];
    assert.ok(inside !== undefined && others.length === 0);
    assert.ok(read.has(`/proc/${process.pid}/cmdline`));
    assert.ok(!read.has(`/proc/${inside}/cmdline`));
  });
});

test('a child that has yet to become another program is not taken for a second one of its parent', async () => {
  // It keeps its parent's command line for good, as a child has it until its exec.
  const script = `
    const { argv, env, execPath, ppid, stdout } = process;
    const again = { stdio: 'inherit', env: { ...env, CHILD: '1' } };
    if (env.CHILD) { stdout.write('up'); setInterval(() => {
      if (process.ppid !== ppid) process.exit();
    }, 20); } else require('node:child_process').spawn(execPath, [...process.execArgv, ...argv.slice(1)], again);`;
  const child = spawn(process.execPath, ['-e', script, marker], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  try {
    await once(child.stdout, 'data');
    const found = await processesWithArgument(linuxFiles, marker);
    assert.deepEqual(
      found.map(({ pid }) => pid),
      [child.pid],
    );
  } finally {
    child.kill('SIGKILL');
    await ended; // of both
  }
});
