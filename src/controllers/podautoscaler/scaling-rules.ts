// What becomes of a recommendation: how long lower and higher ones count, and how fast a target may grow and shrink. Pure.
import type { HPAScalingRules } from '../../api/generated/types/autoscaling-v2.ts';

interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}
interface Change {
  readonly by: number;
  readonly atMs: number;
}

/** What is remembered of an autoscaler, by a clock that never goes back. */
export interface History {
  /** As they were before anything was done with them. */
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly Change[];
  readonly downs: readonly Change[];
}

/** Of an autoscaler that is seen for the first time: as if it had wanted what there is. */
export const newHistory = (replicas: number, atMs: number): History => ({
  recommendations: [{ replicas, atMs }],
  ups: [],
  downs: [],
});

export interface Reason {
  readonly reason: string;
  readonly message: string;
}

/** What is done, and why it is not what was wanted. */
export interface Ruled {
  readonly replicas: number;
  readonly history: History;
  readonly able: Reason;
  readonly limit: Reason & { readonly isLimited: boolean };
}

export interface Wish {
  readonly current: number;
  readonly wanted: number;
  readonly min: number;
  readonly max: number;
  readonly nowMs: number;
  readonly history: History;
}

/** With all that upstream's defaults fill in. */
export interface Rules extends HPAScalingRules {
  readonly stabilizationWindowSeconds: number;
}

const maxInt32 = 2 ** 31 - 1;
const minInt32 = -(2 ** 31);
const bounded = (value: number): number => Math.max(minInt32, Math.min(value, maxInt32));

const ready: Reason = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const stabilizedUp: Reason = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const stabilizedDown: Reason = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const within: Reason = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const tooFew: Reason = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const tooMany: Reason = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const tooFast: Reason = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const tooFastDown: Reason = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

interface Limited extends Reason {
  readonly replicas: number;
}

const remembering = ({ history, wanted, nowMs }: Wish, since: (atMs: number) => boolean): History => ({
  ...history,
  recommendations: [
    ...history.recommendations.filter(({ atMs }) => since(atMs)),
    { replicas: wanted, atMs: nowMs },
  ],
});

const ruled = (wish: Wish, history: History, stable: number, held: Reason, limited: Limited): Ruled => ({
  replicas: limited.replicas,
  history,
  able: stable === wish.wanted ? ready : held,
  limit: { ...limited, isLimited: limited.replicas !== stable },
});

/** Without a behavior: twice as many at once, or four, and fewer once nothing higher was wanted for a while. */
export function withoutBehavior(wish: Wish, stabilizationMs: number): Ruled {
  const { current, wanted, min, max, nowMs, history } = wish;
  const isRecent = (atMs: number): boolean => atMs >= nowMs - stabilizationMs;
  const recent = history.recommendations.filter(({ atMs }) => isRecent(atMs));
  const stable = Math.max(wanted, ...recent.map(({ replicas }) => replicas));
  const fastest = Math.max(2 * current, 4);
  const most: Limited = max > fastest ? { replicas: fastest, ...tooFast } : { replicas: max, ...tooMany };
  const limited: Limited =
    stable < min
      ? { replicas: min, ...tooFew }
      : stable > most.replicas
        ? most
        : { replicas: stable, ...within };
  return ruled(wish, remembering(wish, isRecent), stable, stabilizedDown, limited);
}

const changeWithin = (changes: readonly Change[], seconds: number, nowMs: number): number =>
  changes.filter(({ atMs }) => atMs > nowMs - seconds * 1000).reduce((sum, { by }) => sum + by, 0);

/** How many there may be now, by the policies of a direction. */
function rateLimit({ current, history, nowMs }: Wish, rules: Rules, direction: 1 | -1): number {
  const { selectPolicy, policies = [] } = rules;
  if (selectPolicy === 'Disabled') return current;
  const proposals = policies.map(({ type, value, periodSeconds }) => {
    const grown = changeWithin(history.ups, periodSeconds, nowMs);
    const shrunk = changeWithin(history.downs, periodSeconds, nowMs);
    const atStart = current - grown + shrunk;
    if (type === 'Pods') return bounded(atStart + direction * value);
    const share = 1 + (direction * value) / 100;
    // Rounded up when it grows: a small target would never grow else.
    return bounded(direction > 0 ? Math.ceil(atStart * share) : Math.trunc(atStart * share));
  });
  // The smallest change is the lowest number of those that grow, and the highest of those that shrink.
  return (selectPolicy === 'Min') === direction > 0
    ? Math.min(maxInt32, ...proposals)
    : Math.max(minInt32, ...proposals);
}

function byRate(wish: Wish, stable: number, up: Rules, down: Rules): Limited {
  const { current, min, max } = wish;
  if (stable > current) {
    const fastest = Math.max(rateLimit(wish, up, 1), current);
    const most: Limited = max > fastest ? { replicas: fastest, ...tooFast } : { replicas: max, ...tooMany };
    if (stable > most.replicas) return most;
  } else if (stable < current) {
    const fewest = Math.min(rateLimit(wish, down, -1), current);
    const least: Limited = min < fewest ? { replicas: fewest, ...tooFastDown } : { replicas: min, ...tooFew };
    if (stable < least.replicas) return least;
  }
  return { replicas: stable, ...within };
}

export function withBehavior(wish: Wish, up: Rules, down: Rules): Ruled {
  const { current, wanted, nowMs, history } = wish;
  const upCutoff = nowMs - up.stabilizationWindowSeconds * 1000;
  const downCutoff = nowMs - down.stabilizationWindowSeconds * 1000;
  const since = (cutoff: number): number[] =>
    history.recommendations.filter(({ atMs }) => atMs > cutoff).map(({ replicas }) => replicas);
  const lowest = Math.min(wanted, ...since(upCutoff));
  const highest = Math.max(wanted, ...since(downCutoff));
  const stable = Math.min(Math.max(current, lowest), highest);
  const isRecent = (atMs: number): boolean => atMs >= Math.min(upCutoff, downCutoff);
  const held = wanted >= current ? stabilizedUp : stabilizedDown;
  return ruled(wish, remembering(wish, isRecent), stable, held, byRate(wish, stable, up, down));
}

const longestPeriodMs = ({ policies = [] }: HPAScalingRules): number =>
  Math.max(0, ...policies.map(({ periodSeconds }) => periodSeconds)) * 1000;

/** After a target was scaled: what the next changes are counted with. */
export function withChange(
  history: History,
  { before, after, nowMs }: { readonly before: number; readonly after: number; readonly nowMs: number },
  up: HPAScalingRules,
  down: HPAScalingRules,
): History {
  const added = (changes: readonly Change[], rules: HPAScalingRules): Change[] => [
    ...changes.filter(({ atMs }) => atMs >= nowMs - longestPeriodMs(rules)),
    { by: Math.abs(after - before), atMs: nowMs },
  ];
  return after > before
    ? { ...history, ups: added(history.ups, up) }
    : { ...history, downs: added(history.downs, down) };
}
