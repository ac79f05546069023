// Memory of the server process with all its components: at rest, and with 10,000 pods stored.
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { fillWithPods } from './harness/fill.ts';
import { memory } from './harness/process-cost.ts';
import { startBenchServer } from './harness/servers.ts';

/** Long enough for what is set aside at rest to be given back. */
const restMs = 10_000;

async function run(): Promise<readonly Measurement[]> {
  const idle = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  const server = await startBenchServer();
  try {
    await delay(restMs);
    const floor = { what: 'an idle Node', value: memory(idle.pid!).rss };
    const atRest = memory(server.target.pid).rss;
    await until(server.client);
    await fillWithPods(server.target, 10_000);
    await delay(restMs);
    const filled = memory(server.target.pid).rss;
    return [
      { what: 'server at rest, RSS', value: atRest, unit: 'MB', floor, aim: { value: 130 } },
      { what: 'with 10,000 pods, RSS', value: filled, unit: 'MB', floor, aim: { value: 250 } },
      { what: 'a stored pod', value: ((filled - atRest) / 10_000) * 1_000, unit: 'KB' },
    ];
  } finally {
    idle.kill();
    await server.stop();
  }
}

/** Pods need the account that a controller makes. */
async function until(client: Awaited<ReturnType<typeof startBenchServer>>['client']): Promise<void> {
  for (;;) {
    const found = await client.list(serviceaccounts, { namespace: 'default' });
    if (found.items.length > 0) return;
    await delay(50);
  }
}

export const bench: Bench = {
  name: 'server-memory',
  question: 'how much memory does the whole control plane take?',
  run,
};
