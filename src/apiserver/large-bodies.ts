// Who may work on a large body: few at a time, and whoever waits for somebody else meanwhile lets others in.
import { once } from '../base/once.ts';
import { Places } from '../base/turns.ts';

/**
 * Large bodies that are worked on together. Each becomes a tree of ten times its size: thirty of them at once would be
 * more memory and more garbage, and none would be done sooner.
 */
const together = 2;

/** Bytes of bodies whose requests wait for somebody else's answer. What would be more keeps its place while it waits. */
const mostAside: number = 32 << 20;

export class LargeBodies extends Places {
  #left = mostAside;

  constructor(count: number = together) {
    super(count);
  }

  /** How what waits without a place comes back; undefined: too much waits so already. */
  aside(bytes: number): (() => void) | undefined {
    if (bytes > this.#left) return undefined;
    this.#left -= bytes;
    return once(() => {
      this.#left += bytes;
    });
  }
}
