// The guarantees of a watch, as etcd's robustness suite checks them (tests/robustness/validate/watch.go), said of what the API's
// watches tell: what was recorded is compared with the log of all changes.

/** What matters of an object: a value of its own, and what selectors select by. */
export interface State {
  readonly value: string;
  readonly group: string;
}
/** A change that was stored. `state` null: deleted. */
export interface Change {
  readonly revision: number;
  readonly key: string;
  readonly state: State | null;
}
export type Frame =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly revision: number;
      readonly key: string;
      readonly state: State;
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number };
type Told = Exclude<Frame, { readonly type: 'BOOKMARK' }>;

export interface WatchRecord {
  /** Changes after this one were asked for. */
  readonly from: number;
  readonly selects: (key: string, state: State) => boolean;
  /** In the order in which they came. */
  readonly frames: readonly Frame[];
}
export type Guarantee =
  | 'filter'
  | 'ordered'
  | 'unique'
  | 'atomic'
  | 'bookmarkable'
  | 'resumable'
  | 'is-create'
  | 'reliable'
  | 'previous';
export interface Broken {
  readonly guarantee: Guarantee;
  readonly revision: number;
  readonly why: string;
}

interface Step extends Change {
  readonly before: State | null;
}

/** All changes from the first one on, with the state that each of them found. */
export class ChangeLog {
  readonly steps: readonly Step[];
  readonly #byEvent: ReadonlyMap<string, Step>;

  constructor(changes: readonly Change[]) {
    const now = new Map<string, State | null>();
    this.steps = changes
      .toSorted((a, b) => a.revision - b.revision)
      .map((change) => {
        const before = now.get(change.key) ?? null;
        now.set(change.key, change.state);
        return { ...change, before };
      });
    this.#byEvent = new Map(this.steps.map((step) => [`${step.revision} ${step.key}`, step]));
  }

  step(revision: number, key: string): Step | undefined {
    return this.#byEvent.get(`${revision} ${key}`);
  }

  /** The objects as of `revision`. */
  at(revision: number): Map<string, State> {
    const now = new Map<string, State>();
    for (const { revision: at, key, state } of this.steps) {
      if (at > revision) break;
      if (state === null) now.delete(key);
      else now.set(key, state);
    }
    return now;
  }

  /** What a watch has to tell of the changes with `from` < revision <= `upTo`: objects that begin or cease to be selected come and go. */
  expected({ from, selects }: WatchRecord, upTo: number): Told[] {
    const first = this.steps.findIndex(({ revision }) => revision > from);
    const end = this.steps.findIndex(({ revision }) => revision > upTo);
    if (first < 0) return [];
    return this.steps.slice(first, end < 0 ? undefined : end).flatMap((step): Told[] => {
      const { revision, key, state, before } = step;
      const was = before !== null && selects(key, before);
      const is = state !== null && selects(key, state);
      if (is) return [{ type: was ? 'MODIFIED' : 'ADDED', revision, key, state }];
      return was ? [{ type: 'DELETED', revision, key, state: before }] : [];
    });
  }
}

const same = (a: Told | undefined, b: Told | undefined): boolean =>
  a?.type === b?.type &&
  a?.revision === b?.revision &&
  a?.key === b?.key &&
  a?.state.value === b?.state.value &&
  a?.state.group === b?.state.group;
const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
const isTold = (frame: Frame): frame is Told => frame.type !== 'BOOKMARK';

/** An event that does not match is not told. */
function filter({ selects, from }: WatchRecord, told: readonly Told[]): Broken[] {
  return told
    .filter(({ key, state, revision }) => !selects(key, state) || revision <= from)
    .map((event) => ({
      guarantee: 'filter',
      revision: event.revision,
      why: `${text(event)} was not asked for`,
    }));
}

function ordered(told: readonly Told[]): Broken[] {
  return told.flatMap(({ revision }, i): Broken[] => {
    const last = told[i - 1]?.revision ?? 0;
    return revision < last ? [{ guarantee: 'ordered', revision, why: `after ${last}` }] : [];
  });
}

function unique(told: readonly Told[]): Broken[] {
  const seen = new Set<string>();
  return told.flatMap(({ revision, key }): Broken[] => {
    const event = `${revision} ${key}`;
    if (seen.has(event)) return [{ guarantee: 'unique', revision, why: `${key} was told twice` }];
    seen.add(event);
    return [];
  });
}

/** The changes of one revision come together and whole, or a resumed watch would lose the rest. */
function atomic(frames: readonly Frame[], expected: readonly Told[]): Broken[] {
  const runs: { readonly revision: number; count: number }[] = [];
  frames.forEach((frame, i) => {
    const last = frames[i - 1];
    if (!isTold(frame)) return;
    const goesOn = last !== undefined && isTold(last) && last.revision === frame.revision;
    if (goesOn) runs.at(-1)!.count++;
    else runs.push({ revision: frame.revision, count: 1 });
  });
  const due = new Map<number, number>();
  for (const { revision } of expected) due.set(revision, (due.get(revision) ?? 0) + 1);
  return runs
    .filter(({ revision, count }) => count < (due.get(revision) ?? 0))
    .map(({ revision, count }) => ({
      guarantee: 'atomic',
      revision,
      why: `${count} of ${due.get(revision)} came together`,
    }));
}

/** After a bookmark nothing up to its revision is told any more, and none goes back. */
function bookmarkable(frames: readonly Frame[]): Broken[] {
  let marked = 0;
  let last = 0;
  return frames.flatMap((frame): Broken[] => {
    const { revision } = frame;
    if (isTold(frame)) {
      last = revision;
      return revision <= marked
        ? [{ guarantee: 'bookmarkable', revision, why: `after the bookmark of ${marked}` }]
        : [];
    }
    const back = Math.max(marked, last);
    marked = revision;
    return revision < back
      ? [{ guarantee: 'bookmarkable', revision, why: `a bookmark after ${back} was told` }]
      : [];
  });
}

/** The first event is the first that happened after the revision that was asked for. */
function resumable(told: readonly Told[], log: ChangeLog, watch: WatchRecord): Broken[] {
  const [first] = told;
  if (first === undefined) return [];
  const expected = log.expected(watch, first.revision);
  if (same(first, expected[0])) return [];
  return [
    {
      guarantee: 'resumable',
      revision: first.revision,
      why: `${text(first)} instead of ${text(expected[0])}`,
    },
  ];
}

/** ADDED: it was not there, or not selected, before. */
function isCreate(told: readonly Told[], expected: readonly Told[]): Broken[] {
  const due = new Map(expected.map((event) => [`${event.revision} ${event.key}`, event]));
  return told.flatMap((event): Broken[] => {
    const { revision, key, type } = event;
    const wanted = due.get(`${revision} ${key}`)?.type;
    if (wanted === undefined || (type === 'ADDED') === (wanted === 'ADDED')) return [];
    return [{ guarantee: 'is-create', revision, why: `${type} instead of ${wanted}` }];
  });
}

/** Whatever was asked for up to the last revision that was told was told, and nothing else. */
function reliable(told: readonly Told[], expected: readonly Told[]): Broken[] {
  for (let i = 0; i < Math.max(told.length, expected.length); i++) {
    if (same(told[i], expected[i])) continue;
    const revision = (expected[i] ?? told[i])!.revision;
    return [{ guarantee: 'reliable', revision, why: `${text(told[i])} instead of ${text(expected[i])}` }];
  }
  return [];
}

/** The last state that DELETED carries is the one before. */
function previous(told: readonly Told[], log: ChangeLog): Broken[] {
  return told.flatMap(({ type, revision, key, state }): Broken[] => {
    if (type !== 'DELETED') return [];
    const before = log.step(revision, key)?.before;
    if (before && before.value === state.value && before.group === state.group) return [];
    return [{ guarantee: 'previous', revision, why: `${text(state)} instead of ${text(before)}` }];
  });
}

/** Empty: the watch kept all nine. */
export function brokenGuarantees(log: ChangeLog, watch: WatchRecord): Broken[] {
  const { frames } = watch;
  const told = frames.filter(isTold);
  // As etcd does: up to what the watch told last, be it an event or a bookmark.
  const expected = log.expected(watch, frames.at(-1)?.revision ?? watch.from);
  return [
    ...filter(watch, told),
    ...ordered(told),
    ...unique(told),
    ...atomic(frames, expected),
    ...bookmarkable(frames),
    ...resumable(told, log, watch),
    ...isCreate(told, expected),
    ...reliable(told, expected),
    ...previous(told, log),
  ];
}
