// Whether what clients of one object saw can be explained by an object that does one thing at a time.
// Wing and Gong's search with Lowe's memory of what was tried, as in Porcupine.

/** Values are unique: each write writes one of its own. `null`: there is no object. */
export type Operation =
  | { readonly what: 'get'; readonly found: string | null }
  | { readonly what: 'create'; readonly value: string; readonly answer: Answer }
  /** `expected`: the value whose resourceVersion was sent. */
  | { readonly what: 'put'; readonly value: string; readonly expected: string; readonly answer: Answer }
  | { readonly what: 'delete'; readonly expected: string | undefined; readonly answer: Answer };
/** unknown: the connection broke; it may have been done at any later moment, or never. */
export type Answer = 'ok' | 'refused' | 'unknown';

export interface Recorded {
  readonly operation: Operation;
  /** Any clock that never goes back. */
  readonly invoked: number;
  readonly returned: number;
}

type State = string | null;
const impossible = Symbol('impossible');

function after(state: State, operation: Operation): State | typeof impossible {
  if (operation.what === 'get') return operation.found === state ? state : impossible;
  const allowed =
    operation.what === 'create'
      ? state === null
      : state !== null && (operation.expected === undefined || operation.expected === state);
  if (operation.answer === 'refused') return allowed ? impossible : state;
  if (!allowed) return impossible;
  return operation.what === 'delete' ? null : operation.value;
}

/** A doubly linked list of calls and returns in the order of time. */
interface Moment {
  readonly index: number;
  readonly operation: Operation;
  /** Of a call whose end is known. */
  end: Moment | undefined;
  readonly isCall: boolean;
  readonly at: number;
  previous: Moment | undefined;
  next: Moment | undefined;
}

function timeline(history: readonly Recorded[]): Moment {
  const moments: Moment[] = [];
  history.forEach(({ operation, invoked, returned }, index) => {
    const moment = (isCall: boolean, at: number): Moment => {
      const made = { index, operation, isCall, at, end: undefined, previous: undefined, next: undefined };
      moments.push(made);
      return made;
    };
    const call = moment(true, invoked);
    // What nobody was told of has no end: nothing forces it to have happened.
    if (operation.what === 'get' || operation.answer !== 'unknown') call.end = moment(false, returned);
  });
  // At one moment calls come first: what touches counts as concurrent.
  moments.sort((a, b) => a.at - b.at || Number(b.isCall) - Number(a.isCall));
  const head = { index: -1, operation: history[0]?.operation, at: -1, isCall: true } as Moment;
  let last = head;
  for (const moment of moments) {
    last.next = moment;
    moment.previous = last;
    last = moment;
  }
  return head;
}

function unlink(moment: Moment): void {
  moment.previous!.next = moment.next;
  if (moment.next) moment.next.previous = moment.previous;
}
function relink(moment: Moment): void {
  moment.previous!.next = moment;
  if (moment.next) moment.next.previous = moment;
}
function lift(call: Moment): void {
  unlink(call);
  if (call.end) unlink(call.end);
}
function putBack(call: Moment): void {
  if (call.end) relink(call.end);
  relink(call);
}

/** Of one object, which does not exist at first. Undefined: it can be explained; else the operation that can't. */
export function unexplained(history: readonly Recorded[]): Recorded | undefined {
  const head = timeline(history);
  const done = Buffer.alloc(Math.ceil(history.length / 8));
  const flip = (index: number): void => {
    done[index >> 3] = done[index >> 3]! ^ (1 << (index & 7));
  };
  const tried = new Set<string>();
  const chosen: { readonly call: Moment; readonly before: State }[] = [];
  let state: State = null;
  let furthest: Moment | undefined;
  let moment = head.next;
  while (moment !== undefined) {
    if (moment.isCall) {
      const next = after(state, moment.operation);
      if (next !== impossible) {
        flip(moment.index);
        const seen: string = `${done.toString('latin1')}${next === null ? '-' : `+${next}`}`;
        if (!tried.has(seen)) {
          tried.add(seen);
          chosen.push({ call: moment, before: state });
          state = next;
          lift(moment);
          moment = head.next;
          continue;
        }
        flip(moment.index);
      }
      moment = moment.next;
      continue;
    }
    // It ended, and nothing that was chosen lets it have happened before.
    if (furthest === undefined || moment.at > furthest.at) furthest = moment;
    const last = chosen.pop();
    if (last === undefined) return history[furthest.index];
    state = last.before;
    flip(last.call.index);
    putBack(last.call);
    moment = last.call.next;
  }
  return undefined;
}
