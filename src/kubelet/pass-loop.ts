// Passes over one thing, one at a time: who asks for one while another is under way gets the next.
import type { Clock } from '../base/clock.ts';

export interface PassLoopOptions {
  readonly clock: Clock;
  /** The signal is this pass's own: who interrupts it wants it left at once. */
  readonly pass: (signal: AbortSignal) => Promise<void>;
  /** What a pass threw that nobody interrupted. */
  readonly failed: (error: unknown) => void;
}

/** A pass that failed is made again after this long. */
const retryMs = 2000;
/** A look a day does no harm, and timers have a longest time. */
const longestMs = 86_400_000;

export class PassLoop {
  readonly #options: PassLoopOptions;
  #underWay: AbortController | undefined;
  #isDue = false;
  #isStopped = false;
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(options: PassLoopOptions) {
    this.#options = options;
  }

  look(): void {
    if (this.#isStopped) return;
    this.#isDue = true;
    if (!this.#underWay) void this.#run();
  }

  /** The earliest of all wishes counts; who wants a later look asks again then. */
  lookIn(ms: number): void {
    const { clock } = this.#options;
    const at = clock.monotonic() + ms;
    if (this.#isStopped || (this.#alarm && at >= this.#alarm.at)) return;
    this.#alarm?.cancel();
    const cancel = clock.timer(Math.min(Math.max(ms, 0), longestMs), () => {
      this.#alarm = undefined;
      this.look();
    });
    this.#alarm = { at, cancel };
  }

  interrupt(): void {
    this.#underWay?.abort();
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm?.cancel();
    this.interrupt();
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#isStopped) {
      this.#isDue = false;
      const own = new AbortController();
      this.#underWay = own;
      try {
        await this.#options.pass(own.signal);
      } catch (error) {
        if (!own.signal.aborted) {
          this.#options.failed(error);
          this.lookIn(retryMs);
        }
      }
    }
    this.#underWay = undefined;
  }
}
