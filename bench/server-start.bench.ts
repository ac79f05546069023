// From the start of the server's process to the first `ok` of /readyz, on an empty folder and on one that is there.

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { Bench, Measurement } from './bench.ts';
import { quantile } from './bench.ts';
import { cpuMicros } from './harness/process-cost.ts';
import { scratch, startBenchServer } from './harness/servers.ts';

const rounds = 5;

async function run(): Promise<readonly Measurement[]> {
  const fresh: number[] = [];
  const again: number[] = [];
  const cpu: number[] = [];
  const bare: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const from = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    bare.push(performance.now() - from);
    const directory = scratch();
    const first = await startBenchServer({ directory });
    cpu.push(cpuMicros(first.target.pid) / 1_000);
    fresh.push(first.readyMs);
    await first.stop();
    const second = await startBenchServer({ directory });
    again.push(second.readyMs);
    await second.stop();
    rmSync(directory, { recursive: true, force: true });
  }
  const floor = { what: 'node -e 0', value: quantile(bare, 0.5) };
  const aim = { value: 500 };
  return [
    { what: 'first start, p50', value: quantile(fresh, 0.5), unit: 'ms', floor, aim },
    { what: 'start on existing data, p50', value: quantile(again, 0.5), unit: 'ms', floor, aim },
    { what: 'CPU of a first start, least', value: Math.min(...cpu), unit: 'ms' },
  ];
}

export const bench: Bench = {
  name: 'server-start',
  question: 'how long does a server take to /readyz?',
  run,
};
