// The queues of one priority level as a state machine: who runs now, who waits, who is refused. Time is an argument.

export interface QueueShape {
  /** 0: nobody waits; what does not fit is refused. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

export type Refusal = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

export interface Flow {
  readonly name: string;
  /** By it queues are dealt, when several flows have the same. */
  readonly hand?: string;
  /** Flows of one owner, who must not fill all seats by having many of them. */
  readonly party?: string;
}

export interface Ticket {
  readonly width: number;
  readonly flow: Flow;
  readonly arrived: number;
  /** When it began to run; undefined while it waits. */
  started: number | undefined;
  queue: Queue | undefined;
}

interface Queue {
  readonly waiting: Ticket[];
  waitingSeats: number;
  executing: number;
  /** Virtual time at which its next request would be dispatched. */
  nextDispatch: number;
}

/** Upstream's first guess of how long a request takes, in milliseconds; corrected when it has ended. */
const guessedMs = 3;

/** Flows have names of users: there may be any number of them. */
const maxHands = 1_024;

/** Two 32-bit halves of which 53 bits are used. Upstream allows hands of 60: the last cards of such a one are dealt less evenly. */
function hashOf(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 2654435761);
    b = Math.imul(b ^ c, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

/** A flow's hand of queues, no queue twice: two flows hardly ever have the same one (shuffle sharding). */
export function dealHand(flow: string, deck: number, handSize: number): number[] {
  let rest = hashOf(flow);
  const hand: number[] = [];
  for (let i = 0; i < Math.min(handSize, deck); i++) {
    const left = deck - i;
    let card = rest % left;
    rest = Math.floor(rest / left);
    for (const other of [...hand].sort((x, y) => x - y)) if (card >= other) card++;
    hand.push(card);
  }
  return hand;
}

export class QueueSet {
  #shape: QueueShape;
  readonly #queues: Queue[] = [];
  /** What was dealt to the flows that came lately. */
  readonly #hands = new Map<string, readonly number[]>();
  /** How many more seats may be taken now; the level asks its neighbours. */
  readonly #mayTake: (width: number, inUse: number) => boolean;
  /** Seats that each flow uses now. */
  readonly #ofFlow = new Map<string, number>();
  readonly #ofParty = new Map<string, number>();
  #inUse = 0;
  #waiting = 0;
  #executing = 0;
  #virtual = 0;
  #since = 0;
  #turn = 0;

  constructor(shape: QueueShape, mayTake: (width: number, inUse: number) => boolean) {
    this.#shape = shape;
    this.#mayTake = mayTake;
    this.reshape(shape);
  }

  get seatsInUse(): number {
    return this.#inUse;
  }
  get waiting(): number {
    return this.#waiting;
  }
  get executing(): number {
    return this.#executing;
  }

  /** Queues that go keep serving who waits in them: they are only no longer dealt. */
  reshape(shape: QueueShape): void {
    this.#shape = shape;
    this.#hands.clear();
    while (this.#queues.length < Math.max(shape.queues, 1))
      this.#queues.push({ waiting: [], waitingSeats: 0, executing: 0, nextDispatch: 0 });
  }

  /** A ticket that runs (`started`) or waits, or why it may do neither. */
  arrive(flow: Flow, width: number, now: number): Ticket | Refusal {
    this.#advance(now);
    const ticket: Ticket = { width, flow, arrived: now, started: undefined, queue: undefined };
    const queue = this.#queueFor(flow.hand ?? flow.name);
    if (this.#shape.queues === 0) {
      if (!this.#fits(width)) return 'concurrency-limit';
      this.#begin(ticket, queue, now);
      return ticket;
    }
    if (this.#waiting === 0 && this.#fits(width) && this.#leavesRoom(ticket)) {
      this.#begin(ticket, queue, now);
      return ticket;
    }
    if (queue.waiting.length >= this.#shape.queueLengthLimit) return 'queue-full';
    if (queue.waiting.length === 0 && queue.executing === 0)
      queue.nextDispatch = Math.max(queue.nextDispatch, this.#virtual);
    ticket.queue = queue;
    queue.waiting.push(ticket);
    queue.waitingSeats += width;
    this.#waiting++;
    return ticket;
  }

  /** Begins what may begin now, fairest first. */
  dispatch(now: number): Ticket[] {
    const begun: Ticket[] = [];
    while (this.#waiting > 0) {
      this.#advance(now);
      const queue = this.#next();
      const head = queue?.waiting[0];
      // A wide request is not passed by narrow ones for ever: when it is its turn, others wait with it.
      if (queue === undefined || head === undefined || !this.#fits(head.width)) return begun;
      this.#leave(queue, 0);
      this.#begin(head, queue, now);
      begun.push(head);
    }
    return begun;
  }

  finish(ticket: Ticket, now: number): void {
    this.#advance(now);
    this.#inUse -= ticket.width;
    this.#count(ticket, -ticket.width);
    this.#executing--;
    const queue = ticket.queue!;
    queue.executing--;
    // The guess of how long it takes was charged; now it is known.
    queue.nextDispatch += (now - ticket.started! - guessedMs) * ticket.width;
  }

  /** It waits no more; false when it runs already. */
  abandon(ticket: Ticket, now: number): boolean {
    this.#advance(now);
    const queue = ticket.queue;
    const at = ticket.started === undefined && queue !== undefined ? queue.waiting.indexOf(ticket) : -1;
    if (queue === undefined || at < 0) return false;
    this.#leave(queue, at);
    return true;
  }

  /**
   * A flow that has seats gets more while as many as it has then are left: one flow has half of them at most, the next
   * one half of the rest. So whoever comes as the first of a flow finds a seat, whatever the others do; and if the others
   * are many flows of one party, which leaves a quarter.
   */
  #leavesRoom({ flow, width }: Ticket): boolean {
    const own = this.#ofFlow.get(flow.name) ?? 0;
    if (own > 0 && !this.#mayTake(own + 2 * width, this.#inUse)) return false;
    const party = flow.party === undefined ? 0 : (this.#ofParty.get(flow.party) ?? 0);
    return party === 0 || this.#mayTake(width + Math.ceil((party + width) / 3), this.#inUse);
  }

  #count({ flow }: Ticket, seats: number): void {
    change(this.#ofFlow, flow.name, seats);
    if (flow.party !== undefined) change(this.#ofParty, flow.party, seats);
  }

  /** What is wider than all seats runs alone; where there is no seat, nothing runs. */
  #fits(width: number): boolean {
    return this.#mayTake(this.#inUse === 0 ? 1 : width, this.#inUse);
  }

  #leave(queue: Queue, at: number): void {
    const [ticket] = queue.waiting.splice(at, 1);
    queue.waitingSeats -= ticket!.width;
    this.#waiting--;
  }

  #begin(ticket: Ticket, queue: Queue, now: number): void {
    if (queue.waiting.length === 0 && queue.executing === 0)
      queue.nextDispatch = Math.max(queue.nextDispatch, this.#virtual);
    ticket.queue = queue;
    ticket.started = now;
    queue.nextDispatch += guessedMs * ticket.width;
    queue.executing++;
    this.#executing++;
    this.#inUse += ticket.width;
    this.#count(ticket, ticket.width);
  }

  #queueFor(flow: string): Queue {
    const { queues, handSize } = this.#shape;
    if (queues <= 1) return this.#queues[0]!;
    let best: Queue | undefined;
    for (const card of this.#handOf(flow, queues, handSize)) {
      const queue = this.#queues[card]!;
      if (best === undefined || load(queue) < load(best)) best = queue;
    }
    return best!;
  }

  #handOf(flow: string, deck: number, handSize: number): readonly number[] {
    let hand = this.#hands.get(flow);
    if (hand !== undefined) return hand;
    hand = dealHand(flow, deck, handSize);
    if (this.#hands.size >= maxHands) this.#hands.clear();
    this.#hands.set(flow, hand);
    return hand;
  }

  /** The queue whose head would end first in virtual time; ties go round. */
  #next(): Queue | undefined {
    let best: Queue | undefined;
    let bestEnd = Number.POSITIVE_INFINITY;
    const count = this.#queues.length;
    for (let i = 1; i <= count; i++) {
      const queue = this.#queues[(this.#turn + i) % count]!;
      const head = queue.waiting[0];
      if (head === undefined || !this.#leavesRoom(head)) continue;
      const end = queue.nextDispatch + guessedMs * head.width;
      if (end >= bestEnd) continue;
      best = queue;
      bestEnd = end;
    }
    if (best !== undefined) this.#turn = this.#queues.indexOf(best);
    return best;
  }

  /** Virtual time goes on as each busy queue gets its equal part of the seats that are used. */
  #advance(now: number): void {
    const passed = now - this.#since;
    this.#since = now;
    if (passed <= 0) return;
    let busy = 0;
    for (const queue of this.#queues) if (queue.executing > 0 || queue.waiting.length > 0) busy++;
    if (busy > 0) this.#virtual += (passed * this.#inUse) / busy;
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const load = (queue: Queue): number => queue.waitingSeats + queue.executing;
