// Containers whose layer the runtime can't count. containerd counts all layers in rounds and skips those it fails at (folders
// deeper than a path can say): of these it tells their last figure for ever, or 0. Only the time of the figure shows it.
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';

interface Seen {
  readonly timestamp: number;
  /** Numbers of the looks at which it had a new figure, newest first; the first one is the look that found it. */
  readonly looks: readonly number[];
}

/** Between two figures of one container each other one has one, or two at most where a round began in between. */
const roundsMissed = 3;

/** To be called with each answer of the runtime, for all containers. Answers with the ids of those that it leaves out. */
export function createLayerWatch(): (all: readonly ContainerStats[]) => ReadonlySet<string> {
  let known = new Map<string, Seen>();
  let look = 0;

  function seenNow({ attributes, writableLayer }: ContainerStats): readonly [string, Seen] {
    const id = attributes?.id ?? '';
    const timestamp = writableLayer?.timestamp ?? 0;
    const before = known.get(id);
    if (before?.timestamp === timestamp) return [id, before];
    return [id, { timestamp, looks: [look, ...(before?.looks ?? [])].slice(0, roundsMissed + 1) }];
  }

  return (all) => {
    look++;
    known = new Map(all.map(seenNow));
    // Since this look somebody had so many new figures.
    const since = Math.max(0, ...[...known.values()].map(({ looks }) => looks[roundsMissed] ?? 0));
    return new Set([...known].flatMap(([id, { looks }]) => (looks[0]! <= since ? [id] : [])));
  };
}
