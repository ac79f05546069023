// `porthole up` as a user runs it, to a Linux and an emulated Windows node Ready, and the memory of all that then runs.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startTestCluster } from '../test/harness/cluster.ts';
import { type Bench, type Measurement, quantile } from './bench.ts';
import { memory } from './harness/process-cost.ts';
import { scratch } from './harness/servers.ts';

const rounds = 5;
const restMs = 10_000;

/** A containerd with nothing configured, from its start to its socket. */
async function bareContainerd(): Promise<number> {
  const directory = scratch();
  const socket = join(directory, 'containerd.sock');
  const from = performance.now();
  const args = ['--root', join(directory, 'root'), '--state', join(directory, 'state'), '--address', socket];
  const child = spawn('containerd', args, { stdio: 'ignore' });
  while (!existsSync(socket)) await delay(2);
  const took = performance.now() - from;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  await gone;
  rmSync(directory, { recursive: true, force: true });
  return took;
}

/** Empty for one that has ended. */
function commandOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      .split('\0')
      .filter((word) => word !== '');
  } catch {
    return [];
  }
}

/** All processes of the box but this one and its shell, by what they are; shared pages count in parts. */
function memoryByProgram(): Map<string, number> {
  const sums = new Map<string, number>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid || pid === '1') continue;
    const command = commandOf(pid);
    if (command.length === 0) continue;
    const program = command.includes('server')
      ? 'server'
      : command.includes('agent')
        ? 'agents'
        : command[0]?.includes('shim')
          ? 'shims'
          : command[0]?.includes('containerd')
            ? 'containerds'
            : 'other';
    sums.set(program, (sums.get(program) ?? 0) + memory(Number(pid)).pss);
  }
  return sums;
}

async function run(): Promise<readonly Measurement[]> {
  const took: number[] = [];
  const bare: number[] = [];
  let sums = new Map<string, number>();
  for (let i = 0; i < rounds; i++) {
    bare.push(await bareContainerd());
    const from = performance.now();
    const cluster = await startTestCluster({ name: 'bench', linux: 1, windows: 1 });
    took.push(performance.now() - from);
    if (i === rounds - 1) {
      await delay(restMs);
      sums = memoryByProgram();
    }
    await cluster.down();
  }
  const floor = { what: 'a bare containerd to its socket', value: quantile(bare, 0.5) };
  const all = [...sums.values()].reduce((sum, one) => sum + one, 0);
  return [
    {
      what: 'up to two Ready nodes, p50',
      value: quantile(took, 0.5),
      unit: 'ms',
      floor,
      aim: { value: 1_300 },
    },
    {
      what: 'up to two Ready nodes, least',
      value: Math.min(...took),
      unit: 'ms',
      floor,
      aim: { value: 1_300 },
    },
    { what: 'memory of the cluster at rest, PSS', value: all, unit: 'MB' },
    ...[...sums].map(([program, value]) => ({ what: `  of it: ${program}`, value, unit: 'MB' })),
  ];
}

export const bench: Bench = {
  name: 'cluster-up',
  question: 'how long does a cluster of two nodes take to come up, and what does it hold?',
  needsBox: true,
  run,
};
