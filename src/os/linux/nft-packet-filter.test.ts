// An nft that does not answer any more is killed, and the next change goes to a new one.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Child, Processes, RunOptions } from '../processes.ts';
import { linuxPacketFilter } from './nft-packet-filter.ts';

interface Nft extends Child {
  readonly told: string[];
  readonly killed: string[];
}

/** Answers as nft does, unless it hangs; one that hangs does not end when it is killed either. */
function nft(hangs: boolean): Nft {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const [told, killed]: [string[], string[]] = [[], []];
  const exited = Promise.withResolvers<number>();
  stdin.on('data', (data: Buffer) => {
    told.push(data.toString());
    if (!hangs) stdout.write('meta expression, datatype ifname (network interface name)\n');
  });
  stdin.on('end', () => exited.resolve(0));
  return {
    pid: 1,
    stdin,
    stdout,
    stderr: new PassThrough(),
    exited: exited.promise,
    kill: (signal = 'SIGTERM') => void killed.push(signal),
    told,
    killed,
  };
}

function machine(...hangs: boolean[]) {
  const started: Nft[] = [];
  const limits: (number | undefined)[] = [];
  const processes: Processes = {
    spawn: () => {
      const child = nft(hangs[started.length] ?? false);
      started.push(child);
      return child;
    },
    run: async (_command, _args, options: RunOptions = {}) => {
      limits.push(options.timeoutMs);
      return { code: 0, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
    },
  };
  return { packetFilter: linuxPacketFilter(processes), started, limits };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('an nft that hangs is killed after 30 s, whoever waits is told, and a new one does what comes next', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { packetFilter, started } = machine(true, false);
  const first = packetFilter.apply('add table ip a\n');
  const second = packetFilter.apply('add table ip b\n');
  const refused = assert.rejects(first, /^Error: nft did not answer for 30 s and was killed$/);
  await turn();
  t.mock.timers.tick(29_999);
  assert.deepEqual(started[0]!.killed, [], 'not before its time');
  t.mock.timers.tick(1);
  await refused;
  await second;
  assert.deepEqual(started[0]!.killed, ['SIGKILL']);
  assert.match(started[1]!.told.join(''), /^add table ip b\n/);
  t.mock.timers.tick(60_000);
  await packetFilter.apply('add table ip c\n');
  assert.equal(started.length, 2, 'one that has answered is not killed for its silence afterwards');
  await packetFilter.close();
});

test('what lists tables is given 30 s', async () => {
  const { packetFilter, limits } = machine();
  await packetFilter.outlines();
  await packetFilter.table('ip a');
  assert.deepEqual(limits, [30_000, 30_000]);
});
