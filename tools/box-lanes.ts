// How many namespace boxes run at once: a few always, and more while the processors have nothing to do.
import { cpus } from 'node:os';

export interface BoxesNow {
  readonly running: number;
  /** Of the last seconds, a share of all processors. */
  readonly idle: number;
  readonly sinceLastStartMs: number;
}

/** Mostly they wait: for processes to start, for grace to end, for a look that is due. */
const always = 3;
/** With five at once whatever the processors did, single tests took longer than they may. */
const most = 6;
/** More than a box takes on average, and it does not take it evenly. */
const idleEnough = 0.35;
/** A cluster's start takes a processor for itself: what a box takes shows after that. */
const settledMs = 20_000;

export const startsAnotherBox = ({ running, idle, sinceLastStartMs }: BoxesNow): boolean =>
  running < always || (running < most && idle >= idleEnough && sinceLastStartMs >= settledMs);

interface Processor {
  readonly times: {
    readonly user: number;
    readonly nice: number;
    readonly sys: number;
    readonly idle: number;
    readonly irq: number;
  };
}

/** Less says little. */
const leastLookMs = 3_000;

/** Answers which share of the processors' time was idle of late. */
export function idleShare(look: () => readonly Processor[] = cpus): () => number {
  const sums = (): { all: number; idle: number } => {
    let [all, idle] = [0, 0];
    for (const { times } of look()) {
      for (const ms of Object.values(times)) all += ms;
      idle += times.idle;
    }
    return { all, idle };
  };
  let before = sums();
  let share = 0;
  return () => {
    const now = sums();
    const all = now.all - before.all;
    if (all < leastLookMs * look().length) return share;
    share = (now.idle - before.idle) / all;
    before = now;
    return share;
  };
}

/** Runs all of `files`, the first ones first; `number`s of those that run at once differ, and are small. */
export async function inBoxes(
  files: readonly string[],
  run: (file: string, number: number) => Promise<void>,
  deps: { readonly idle: () => number; readonly now: () => number; readonly lookAgain: () => Promise<void> },
): Promise<void> {
  const left = [...files];
  const running = new Map<number, Promise<void>>();
  const failed: unknown[] = [];
  let lastStart = Number.NEGATIVE_INFINITY;
  const begin = (file: string): void => {
    let number = 0;
    while (running.has(number)) number++;
    lastStart = deps.now();
    const ended = run(file, number)
      .catch((error: unknown) => void failed.push(error))
      .finally(() => running.delete(number));
    running.set(number, ended);
  };
  while (left.length > 0 || running.size > 0) {
    const idle = deps.idle();
    const more = (): boolean =>
      left.length > 0 &&
      startsAnotherBox({ running: running.size, idle, sinceLastStartMs: deps.now() - lastStart });
    while (more()) begin(left.shift()!);
    await Promise.race([...running.values(), deps.lookAgain()]);
    if (failed.length > 0) throw failed[0];
  }
}
