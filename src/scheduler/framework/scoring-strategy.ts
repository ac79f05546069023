// What the filling of a node is worth: least allocated, most allocated, or a line that the configuration draws.
import type { ScoringStrategy, ShapePoint } from '../config/plugin-args.ts';
import type { NodeInfo } from './node-info.ts';
import { maxNodeScore } from './plugin.ts';
import { amountOf, type Resources } from './resources.ts';

export interface WantedResources {
  readonly request: Resources;
  /** With a default for containers that ask for nothing. */
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
}

type OfResource = (requested: number, capacity: number) => number;

const least: OfResource = (requested, capacity) =>
  requested > capacity ? 0 : Math.trunc(((capacity - requested) * maxNodeScore) / capacity);

/** Pods that ask for nothing count, so there may be more than there is. */
const most: OfResource = (requested, capacity) =>
  Math.trunc((Math.min(requested, capacity) * maxNodeScore) / capacity);

/** Scores of the configuration go to 10. */
const scale = maxNodeScore / 10;

function onLine(shape: readonly ShapePoint[], at: number): number {
  const i = shape.findIndex(({ utilization }) => at <= utilization);
  const to = shape[i === -1 ? shape.length - 1 : i]!;
  if (i <= 0) return to.score * scale;
  const from = shape[i - 1]!;
  const rise = (to.score - from.score) * scale;
  return (
    from.score * scale + Math.trunc((rise * (at - from.utilization)) / (to.utilization - from.utilization))
  );
}

const byShape =
  (shape: readonly ShapePoint[]): OfResource =>
  (requested, capacity) =>
    onLine(shape, requested > capacity ? maxNodeScore : Math.trunc((requested * maxNodeScore) / capacity));

function afterwards(
  name: string,
  { nonZeroRequested, requested }: NodeInfo,
  wanted: WantedResources,
): number {
  if (name === 'cpu') return nonZeroRequested.milliCpu + wanted.nonZero.milliCpu;
  if (name === 'memory') return nonZeroRequested.memory + wanted.nonZero.memory;
  return amountOf(requested, name) + amountOf(wanted.request, name);
}

export type NodeScorer = (node: NodeInfo, wanted: WantedResources) => number;

export function scorerOf({ requestedToCapacityRatio, resources, type }: ScoringStrategy): NodeScorer {
  const isRatio = type === 'RequestedToCapacityRatio';
  const score = isRatio
    ? byShape(requestedToCapacityRatio?.shape ?? [])
    : type === 'MostAllocated'
      ? most
      : least;
  const isExtended = ({ name }: { readonly name: string }): boolean =>
    name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage' && name !== 'pods';
  return (node, wanted) => {
    let sum = 0;
    let weights = 0;
    for (const resource of resources) {
      const { name, weight } = resource;
      const capacity = amountOf(node.allocatable, name);
      // An extended resource says something of pods only that ask for it.
      if (capacity === 0 || (isExtended(resource) && amountOf(wanted.request, name) === 0)) continue;
      const one = score(afterwards(name, node, wanted), capacity);
      if (isRatio && one === 0) continue;
      sum += one * weight;
      weights += weight;
    }
    if (weights === 0) return 0;
    return isRatio ? Math.round(sum / weights) : Math.trunc(sum / weights);
  };
}
