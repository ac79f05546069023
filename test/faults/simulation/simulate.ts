// One simulation: a cluster, a story and its weather out of a seed, what must hold at each step, and how it ended.

import { unmet } from './at-rest.ts';
import { chanceOf } from './chance.ts';
import { ClusterModel } from './cluster-model.ts';
import { Invariants } from './invariants.ts';
import { SimulatedCluster } from './simulated-cluster.ts';
import type { NodePlan } from './simulated-node.ts';
import { calm, type Weather } from './simulated-process.ts';
import { type Mood, Story } from './story.ts';
import { Trace, type Written } from './trace.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** Default: 8 to 30, by the seed. */
  readonly acts?: number;
  /** So many lines of the trace are kept. */
  readonly keep?: number;
  /** Is told of each write. */
  readonly watch?: (written: Written) => void;
}

export interface SimulationResult {
  readonly seed: number;
  /** Of all that happened; the same for the same seed. */
  readonly hash: string;
  readonly writes: number;
  readonly virtualSeconds: number;
  /** From when all was repaired. */
  readonly convergedSeconds: number | undefined;
  readonly violations: readonly string[];
  /** The last lines before the first violation, or before the end. */
  readonly trace: readonly string[];
  readonly asked: ReadonlyMap<string, number>;
}

/** Within this long after the last repair everything is to be as it was asked for. */
const convergesWithinSeconds = 1800;
const restSeconds = 60;
/** A story that does not end is a fault of the simulation. */
const storySeconds = 40_000;

const storm: Weather = {
  latencyMs: 200,
  slow: 0.02,
  slowMs: 5000,
  refused: 0.02,
  lost: 0,
  conflict: 0.02,
  cut: 0.003,
  expired: 0.002,
  twice: 0.05,
  lag: 0.01,
  lagMs: 10_000,
};

interface Climate {
  readonly weather: Weather;
  /** How long a component may not have heard of something. */
  readonly staleSeconds: number;
  readonly mood: Mood;
}

/** In calm weather everybody has heard of everything after two seconds, and each step can be judged. */
function climateOf(seed: number): Climate {
  const moods = ['steady', 'orderly', 'rough', 'rough'] as const;
  const mood = moods[seed % 4]!;
  if (seed % 4 !== 3) return { weather: calm, staleSeconds: 2, mood };
  const lost = Math.floor(seed / 4) % 2 === 0 ? 0 : 0.01;
  return { weather: { ...storm, lost }, staleSeconds: 120, mood };
}

function planNodes(seed: number): readonly NodePlan[] {
  const chance = chanceOf(seed, 'nodes');
  const plan = (os: 'linux' | 'windows', i: number): NodePlan => ({
    name: `${os}-${i}`,
    os,
    windowsBuild: 20348,
    zone: `zone-${i % 3}`,
    cpus: 4,
    memoryBytes: 8 * 2 ** 30,
    address: `10.1.${os === 'linux' ? 0 : 1}.${10 + i}`,
  });
  return [
    ...Array.from({ length: 3 + chance.below(3) }, (_, i) => plan('linux', i)),
    ...Array.from({ length: 2 + chance.below(2) }, (_, i) => plan('windows', i)),
  ];
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed } = options;
  const { mood, staleSeconds, weather } = climateOf(seed);
  const model = new ClusterModel();
  const violations: string[] = [];
  let shown: readonly string[] | undefined;
  const violated = (text: string): void => {
    violations.push(text);
    shown ??= trace.last(options.keep ?? 60);
  };
  const answersAreLost = weather.lost > 0;
  const invariants = new Invariants({ model, staleSeconds, answersAreLost, violated });
  const trace = new Trace((written) => {
    options.watch?.(written);
    const change = model.take(written);
    if (change !== undefined) invariants.see(change);
  });
  const cluster = await SimulatedCluster.open({
    seed,
    nodes: planNodes(seed),
    trace,
    dies: (name, seconds) => void (name === 'controllers' && invariants.controllersEnd(seconds)),
    starts: (name, seconds) => void (name === 'controllers' && invariants.controllersStart(seconds)),
  });
  const { time } = cluster;
  try {
    cluster.weather = weather;
    cluster.start('controllers');
    cluster.start('scheduler');
    for (const node of cluster.nodes.values()) node.start();
    await time.runUntil(20, () => false);
    void watchRuntimes(cluster, violated);
    const story = new Story({ cluster, model, invariants, mood });
    let over = false;
    let failure: unknown;
    void story.tell(options.acts ?? 8 + chanceOf(seed, 'acts').below(23)).then(
      () => {
        over = true;
      },
      (error: unknown) => {
        over = true;
        failure = error;
      },
    );
    await time.runUntil(storySeconds, () => over || violations.length > 0);
    if (failure !== undefined) throw failure;
    if (!over && violations.length === 0) violated('the story does not end');
    const repairedAt = time.seconds;
    const convergedAt =
      violations.length > 0 ? undefined : await converge(cluster, model, violations, violated);
    for (const fault of cluster.faults) violated(`a component failed: ${fault}`);
    time.assertAlone();
    return {
      seed,
      hash: trace.hash(),
      writes: trace.writes,
      virtualSeconds: time.seconds,
      convergedSeconds: convergedAt === undefined ? undefined : convergedAt - repairedAt,
      violations,
      trace: shown ?? trace.last(options.keep ?? 60),
      asked: invariants.asked,
    };
  } finally {
    await cluster.close();
  }
}

/** No two pods of one name run at the same time, on whichever nodes: a StatefulSet promises that of its members. */
async function watchRuntimes(
  { nodes, time }: SimulatedCluster,
  violated: (text: string) => void,
): Promise<void> {
  for (;;) {
    const running = new Map<string, string>();
    for (const [node, { cri }] of nodes)
      for (const { metadata, state } of await cri.runtime.listPodSandbox()) {
        if (state !== 'SANDBOX_READY') continue;
        const { name, namespace, uid } = metadata!;
        const here = `${uid} on ${node}`;
        const there = running.get(`${namespace}/${name}`);
        if (there !== undefined) violated(`a pod runs once: ${namespace}/${name} is ${there} and ${here}`);
        running.set(`${namespace}/${name}`, here);
      }
    await time.clock.sleep(1000);
  }
}

/** Until all is as it was asked for and stays so; answers when. */
async function converge(
  { nodes, time }: SimulatedCluster,
  model: ClusterModel,
  violations: readonly string[],
  violated: (text: string) => void,
): Promise<number | undefined> {
  const deadline = time.seconds + convergesWithinSeconds;
  let left: readonly string[] = [];
  while (time.seconds < deadline) {
    await time.runUntil(time.seconds + 1, () => violations.length > 0);
    if (violations.length > 0) return undefined;
    left = await unmet(model, nodes);
    if (left.length > 0) continue;
    const at = time.seconds;
    await time.runUntil(at + restSeconds, () => violations.length > 0);
    for (const text of await unmet(model, nodes)) violated(`at rest it was as it should be, then: ${text}`);
    return at;
  }
  violated(`not at rest after ${convergesWithinSeconds} s: ${left.slice(0, 5).join('; ')}`);
  return undefined;
}

/** What a person reads of one, and how it is had again. */
export function simulationText({ seed, trace, violations }: SimulationResult): string {
  return [
    ...trace.map((line) => `  ${line}`),
    `seed ${seed}: ${violations.length === 0 ? 'all held' : violations.slice(0, 3).join('\n')}`,
    ...(violations.length === 0 ? [] : [`again: npm run bench -- simulation --seed ${seed}`]),
  ].join('\n');
}
