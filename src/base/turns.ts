// Long work in turns: one piece at a time, and between two of them whatever else waits.

/** Whoever has much to do asks for a turn before each piece of it; those who ask take turns in the order they came. */
export class Turns {
  readonly #later: (run: () => void) => void;
  #waiting: (() => void)[] = [];
  /** Those before it had their turn. */
  #next = 0;

  /** `later` calls back after what is due now: sockets that can be read, timers that are over. */
  constructor(later: (run: () => void) => void) {
    this.#later = later;
  }

  /** How many wait. */
  get length(): number {
    return this.#waiting.length - this.#next;
  }

  take(): Promise<void> {
    return new Promise((resolve) => this.call(resolve));
  }

  /** As `take`, for those who have a callback. */
  call(run: () => void): void {
    this.#waiting.push(run);
    if (this.length === 1) this.#later(this.#turn);
  }

  readonly #turn = (): void => {
    const run = this.#waiting[this.#next++]!;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    } else this.#later(this.#turn);
    run();
  };
}

/** Work in steps: between two of them it can wait. What it hands out is waited for before the next one. */
export type Steps<T> = Generator<Promise<void> | undefined, T, undefined>;

/** Only for work that waits for nobody. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) throw new Error('these steps wait for somebody');
  }
}

/** At once as far as it waits for nobody. */
export function atOnceIfPossible<T>(steps: Steps<T>): T | Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) return value.then(() => atOnceIfPossible(steps));
  }
}

/** What others answer, within steps. Throws what they throw. */
export function* answered<T>(answer: Promise<T>): Steps<T> {
  let told: (() => T) | undefined;
  yield answer.then(
    (value) => {
      told = () => value;
    },
    (error: unknown) => {
      told = () => {
        throw error;
      };
    },
  );
  return told!();
}

/** With a turn between each two steps. */
export async function inTurns<T>(steps: Steps<T>, turns: Turns): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) await value;
    await turns.take();
  }
}

/** With a turn before each step. */
export async function eachInTurn<T>(steps: Steps<T>, turns: Turns): Promise<T> {
  await turns.take();
  return inTurns(steps, turns);
}

/** Work that can stop anywhere: it goes on while its slice lasts, then takes a turn. */
export class Slice {
  readonly #turns: Turns;
  readonly #now: () => number;
  readonly #length: number;
  #until: number;

  constructor(turns: Turns, now: () => number, length = 5) {
    this.#turns = turns;
    this.#now = now;
    this.#length = length;
    this.#until = now() + length;
  }

  /** True when others should have their turn now. */
  get over(): boolean {
    return this.#now() >= this.#until;
  }

  async next(): Promise<void> {
    await this.#turns.take();
    this.#until = this.#now() + this.#length;
  }
}

/** As many steps as a slice has time for, then a turn. */
export async function inSlices<T>(steps: Steps<T>, slice: Slice): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (value !== undefined) await value;
    if (slice.over) await slice.next();
  }
}

/** So many may be under way together; who comes later waits, in order. */
export class Places {
  readonly #count: number;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  /** Nobody has one. */
  get isIdle(): boolean {
    return this.#free === this.#count;
  }

  /** Answers how the place is given back, to be called once. Rejects with the signal's reason: it is not waited for any longer. */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.push(begin);
    });
  }
}
