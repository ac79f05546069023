// How long kubelets that ask for Secrets and ConfigMaps may believe what they got: longer the more nodes there are. Pure.

interface Step {
  readonly fewest: number;
  readonly most: number;
  readonly seconds: number;
}

/** They overlap, so that a node that comes and goes changes nothing for the others. */
const steps: readonly Step[] = [
  { fewest: 0, most: 100, seconds: 0 },
  { fewest: 90, most: 500, seconds: 15 },
  { fewest: 450, most: 1000, seconds: 30 },
  { fewest: 900, most: 2000, seconds: 60 },
  { fewest: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
];

/** The step for so many nodes, seen from the one that was. */
export function ttlStep(nodes: number, before: number): number {
  let step = before;
  while (nodes > steps[step]!.most) step += 1;
  while (nodes < steps[step]!.fewest) step -= 1;
  return step;
}

export const ttlSeconds = (step: number): number => steps[step]?.seconds ?? 0;
