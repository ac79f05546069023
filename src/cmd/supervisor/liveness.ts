// Whether a process still answers, as a kubelet asks it of a container: so many silent checks in a row, and it hangs. Pure.

/** What is asked; in the file that the supervisor is told of. */
export type LivenessCheck = (PortCheck | SocketCheck) & {
  /** How long it may take until the first answer. Default: as long as it needs. */
  readonly startSeconds?: number;
};

export interface PortCheck {
  readonly host: string;
  /** `file`: where the process writes the port that it got. */
  readonly port: number | { readonly file: string };
  readonly path: string;
  /** It speaks HTTP without TLS. */
  readonly plain?: boolean;
  /** That whoever asks may not counts, too: nobody has to be let in without a name. */
  readonly mayRefuse?: boolean;
  /** Any answer counts. Else it must be 200. */
  readonly anyAnswer?: boolean;
}

/** A unix socket of the machine: no network lies between, that could be cut while the process is well. */
export interface SocketCheck {
  readonly socket: string;
}

/** In seconds that the supervisor itself has lived: a machine that slept, or had no time for anyone, has aged nobody. */
export const livenessLimits = {
  everySeconds: 10,
  /** Until it has answered for the first time. */
  startingEverySeconds: 1,
  timeoutSeconds: 10,
  failures: 3,
} as const;

interface Asked {
  ticks: number;
  readonly cancel: AbortController;
}

export class Liveness {
  readonly #ask: (signal: AbortSignal) => Promise<boolean>;
  readonly #startTicks: number;
  #asked: Asked | undefined;
  #sinceAsked: number = livenessLimits.everySeconds;
  #ticks = 0;
  #failures = 0;
  #answered: boolean;

  /** `answered`: it was known to work before it came to us. */
  constructor(
    ask: (signal: AbortSignal) => Promise<boolean>,
    options: { readonly startSeconds?: number | undefined; readonly answered: boolean },
  ) {
    this.#ask = ask;
    this.#startTicks = options.startSeconds ?? Number.POSITIVE_INFINITY;
    this.#answered = options.answered;
  }

  get answered(): boolean {
    return this.#answered;
  }

  get silent(): boolean {
    return this.#failures > 0;
  }

  /** One second of the supervisor has passed, however long it was for others. True: the process hangs. */
  tick(): boolean {
    this.#ticks++;
    this.#sinceAsked++;
    if (this.#asked && ++this.#asked.ticks >= livenessLimits.timeoutSeconds) {
      this.#asked.cancel.abort();
      this.#asked = undefined;
      this.#failures++;
    }
    const { everySeconds, startingEverySeconds } = livenessLimits;
    if (!this.#asked && this.#sinceAsked >= (this.#answered ? everySeconds : startingEverySeconds))
      this.#begin();
    if (this.#answered) return this.#failures >= livenessLimits.failures;
    return this.#ticks >= this.#startTicks;
  }

  stop(): void {
    this.#asked?.cancel.abort();
    this.#asked = undefined;
  }

  #begin(): void {
    const asked: Asked = { ticks: 0, cancel: new AbortController() };
    this.#asked = asked;
    this.#sinceAsked = 0;
    const told = (answers: boolean): void => {
      if (this.#asked !== asked) return; // too late
      this.#asked = undefined;
      this.#failures = answers ? 0 : this.#failures + 1;
      if (answers) this.#answered = true;
    };
    this.#ask(asked.cancel.signal).then(told, () => told(false));
  }
}
