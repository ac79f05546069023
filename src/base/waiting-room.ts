// Those who wait for somebody who may be slow, as long as there is room for the texts that they hold.

/** What one that waits is worth besides its text. */
const overhead = 1024;

export class WaitingRoom {
  readonly #room: number;
  #held = 0;

  /** Of characters. */
  constructor(room: number) {
    this.#room = room;
  }

  /** Gives what is to be called when it waits no more; undefined: there is no room. */
  enter(length: number): (() => void) | undefined {
    const own = length + overhead;
    if (this.#held + own > this.#room) return undefined;
    this.#held += own;
    return () => {
      this.#held -= own;
    };
  }
}
