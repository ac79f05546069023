// The states of a pod's worker, in upstream's words, and the table of what happens to it. Pure.
import type { Verdict } from './pod-status.ts';

/** What the API says of the pod: it is wanted, its deletion was asked for, or it is not there any more. */
type InApi = 'wanted' | 'deleted' | 'removed';

export type WorkerState =
  /** It is to run. Admitted: the node has taken it. */
  | { readonly kind: 'syncing'; readonly admitted: boolean }
  /** Nothing of it is to run any more; the shortest grace that anybody granted counts. */
  | {
      readonly kind: 'terminating';
      readonly api: InApi;
      readonly graceSeconds: number;
      readonly verdict?: Verdict | undefined;
    }
  /** Nothing of it runs any more, and the API shows that. */
  | { readonly kind: 'terminated'; readonly api: InApi; readonly verdict?: Verdict | undefined }
  /** Nothing of it is left on the node. */
  | { readonly kind: 'gone' };

export type WorkerEvent =
  /** Something of it, or for it, is not as it was. */
  | { readonly kind: 'changed' }
  /** The node takes it. */
  | { readonly kind: 'admitted' }
  /** Its own pass found that it is over: all containers have ended for good, its time is up, the node refuses it. */
  | { readonly kind: 'over'; readonly graceSeconds: number; readonly verdict?: Verdict }
  /** Its deletion was asked for, perhaps again with another grace. */
  | { readonly kind: 'deleted'; readonly graceSeconds: number }
  /** The API has no such pod any more. */
  | { readonly kind: 'removed'; readonly graceSeconds: number }
  | { readonly kind: 'evicted'; readonly graceSeconds: number; readonly verdict: Verdict }
  /** All that ran has ended, and the API knows. */
  | { readonly kind: 'stopped' }
  /** What lay on the node is removed. */
  | { readonly kind: 'cleared' };

/** `interrupt`: what is under way for it is left as it is. `look`: another pass is due. `done`: there is no worker any more. */
export type WorkerEffect = 'interrupt' | 'look' | 'done';

export interface Transition {
  readonly state: WorkerState;
  readonly effects: readonly WorkerEffect[];
}

type Of<T extends { readonly kind: string }, K> = Extract<T, { readonly kind: K }>;
type Row<S extends WorkerState['kind']> = {
  readonly [E in WorkerEvent['kind']]: (state: Of<WorkerState, S>, event: Of<WorkerEvent, E>) => Transition;
};

const stays = (state: WorkerState): Transition => ({ state, effects: [] });
const looks = (state: WorkerState): Transition => ({ state, effects: ['look'] });
const breaksOff = (state: WorkerState): Transition => ({ state, effects: ['interrupt', 'look'] });

/** Whoever waits with a longer grace than what was granted now begins anew with that. */
function granted(
  before: Of<WorkerState, 'terminating'>,
  after: Partial<Of<WorkerState, 'terminating'>>,
  graceSeconds: number,
): Transition {
  const isShorter = graceSeconds < before.graceSeconds;
  const state = { ...before, ...after, graceSeconds: isShorter ? graceSeconds : before.graceSeconds };
  return isShorter ? breaksOff(state) : looks(state);
}

const table: { readonly [S in WorkerState['kind']]: Row<S> } = {
  syncing: {
    changed: looks,
    admitted: () => stays({ kind: 'syncing', admitted: true }),
    // Its own pass goes on with its end.
    over: (_, { graceSeconds, verdict }) =>
      stays({ kind: 'terminating', api: 'wanted', graceSeconds, verdict }),
    deleted: (_, { graceSeconds }) => breaksOff({ kind: 'terminating', api: 'deleted', graceSeconds }),
    removed: (_, { graceSeconds }) => breaksOff({ kind: 'terminating', api: 'removed', graceSeconds }),
    evicted: (_, { graceSeconds, verdict }) =>
      breaksOff({ kind: 'terminating', api: 'wanted', graceSeconds, verdict }),
    stopped: stays,
    cleared: stays,
  },
  terminating: {
    changed: looks,
    admitted: stays,
    over: stays,
    deleted: (state, { graceSeconds }) =>
      granted(state, { api: state.api === 'removed' ? 'removed' : 'deleted' }, graceSeconds),
    removed: (state, { graceSeconds }) => granted(state, { api: 'removed' }, graceSeconds),
    // The first verdict stays.
    evicted: (state, { graceSeconds, verdict }) =>
      granted(state, { verdict: state.verdict ?? verdict }, graceSeconds),
    stopped: ({ api, verdict }) => stays({ kind: 'terminated', api, verdict }),
    cleared: stays,
  },
  terminated: {
    changed: looks,
    admitted: stays,
    over: stays,
    deleted: (state) => looks(state.api === 'removed' ? state : { ...state, api: 'deleted' }),
    removed: (state) => looks({ ...state, api: 'removed' }),
    evicted: stays,
    stopped: stays,
    cleared: () => ({ state: { kind: 'gone' }, effects: ['done'] }),
  },
  gone: {
    changed: stays,
    admitted: stays,
    over: stays,
    deleted: stays,
    removed: stays,
    evicted: stays,
    stopped: stays,
    cleared: stays,
  },
};

export const newWorker: WorkerState = { kind: 'syncing', admitted: false };

export function transition(state: WorkerState, event: WorkerEvent): Transition {
  // The table is total: each row knows its own state, each cell its own event.
  const cell = table[state.kind][event.kind] as (state: WorkerState, event: WorkerEvent) => Transition;
  return cell(state, event);
}
