// Thousands of simulated nodes of both systems in one process: what they take, by the processor's time for each second of theirs.
import { SimulatedCluster } from '../test/faults/simulation/simulated-cluster.ts';
import type { NodePlan } from '../test/faults/simulation/simulated-node.ts';
import { Trace } from '../test/faults/simulation/trace.ts';
import type { Bench, Measurement } from './bench.ts';

/** Half of them Linux, half Windows. */
const count = Number(process.env['BENCH_NODES'] ?? 5000);
/** Leases, statuses, what the runtime says: all of it comes round in this. */
const restSeconds = 30;

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage();
  return (user + system) / 1e6;
};
const megabytes = (): number => process.memoryUsage().rss / 2 ** 20;

function planned(i: number): NodePlan {
  const os = i % 2 === 0 ? 'linux' : 'windows';
  const at = i >> 1;
  return {
    name: `${os}-${at}`,
    os,
    windowsBuild: 20348,
    zone: `zone-${at % 3}`,
    cpus: 4,
    memoryBytes: 8 * 2 ** 30,
    address: `10.${os === 'linux' ? 1 : 2}.${at >> 8}.${at & 255}`,
  };
}

async function run(): Promise<readonly Measurement[]> {
  const ready = new Set<string>();
  let leases = 0;
  const trace = new Trace(({ key, value }) => {
    if (key.startsWith('/registry/core/nodes/') && value.includes('"KubeletReady"')) ready.add(key);
    if (key.startsWith('/registry/coordination.k8s.io/leases/kube-node-lease/')) leases++;
  });
  const ignore = (): void => {};
  const nodes = Array.from({ length: count }, (_, i) => planned(i));
  const cluster = await SimulatedCluster.open({ seed: 1, nodes, trace, starts: ignore, dies: ignore });
  const { time } = cluster;
  const [before, memory] = [cpuSeconds(), megabytes()];
  cluster.start('controllers');
  cluster.start('scheduler');
  for (const node of cluster.nodes.values()) node.start();
  await time.runUntil(600, () => ready.size === count);
  if (ready.size < count) throw new Error(`${ready.size} of ${count} nodes are Ready`);
  const joining = cpuSeconds() - before;
  // Taints go, blocks of addresses are given.
  await time.runUntil(time.seconds + 30, () => false);
  const [resting, told] = [cpuSeconds(), leases];
  await time.runUntil(time.seconds + restSeconds, () => false);
  const figures: Measurement[] = [
    { what: `CPU until ${count} nodes are Ready, each`, value: (joining * 1000) / count, unit: 'ms' },
    { what: 'memory, each', value: ((megabytes() - memory) * 1024) / count, unit: 'KB' },
    { what: 'CPU of a second at rest', value: (cpuSeconds() - resting) / restSeconds, unit: 's' },
    { what: 'leases renewed', value: (leases - told) / restSeconds, unit: 'a second' },
  ];
  await cluster.close();
  return figures;
}

export const bench: Bench = {
  name: 'simulated-nodes',
  question: 'what do thousands of simulated nodes take in one process?',
  run,
};
