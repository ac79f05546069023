// When the table is looked at for what somebody took from it, and when its owner is left alone.
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../component-base/logger.ts';
import type { Fragment } from './fragment.ts';

/** A table as nft lists it takes half a microsecond of a processor a byte: to look at it is to take half a percent of one at most. */
const restMsPerByte = 0.1;
/** And 1 KB of memory an element, for a moment: beyond that nobody looks. */
const mostLookedAt = 50_000;
/** Who takes the same again and again, or an nft that lists it in a way that is not known here, is left alone until all is there. */
const mostMissed = 3;

const elementsOf = ({ elements, sets }: Fragment): number =>
  elements.values().reduce((sum, entries) => sum + entries.size, sets.size);

type Look = () => Promise<{ readonly missing: string | undefined; readonly bytes: number }>;

export class TableLooks {
  readonly #options: { readonly clock: Clock; readonly log: Logger };
  #nextMs = 0;
  /** By the last look, and how many in a row have missed just that. */
  #missed: string | undefined;
  #inARow = 0;
  #isTooLarge = false;

  constructor(options: { readonly clock: Clock; readonly log: Logger }) {
    this.#options = options;
  }

  /** In words; undefined when nothing is, and when nobody looked. */
  async missing(fragments: Iterable<Fragment>, look: Look): Promise<string | undefined> {
    const { clock, log } = this.#options;
    if (clock.monotonic() < this.#nextMs || this.#isBeyond(fragments)) return undefined;
    const { missing, bytes } = await look();
    this.#nextMs = clock.monotonic() + bytes * restMsPerByte;
    this.#inARow = missing !== undefined && missing === this.#missed ? this.#inARow + 1 : 1;
    this.#missed = missing;
    if (missing === undefined || this.#inARow <= mostMissed) return missing;
    if (this.#inARow === mostMissed + 1)
      log.error(
        { missing },
        'service rules that were written anew are taken each time: they are left as they are until something else is missing, or nothing',
      );
    return undefined;
  }

  /** Said when it becomes so: who relies on the looks must know that there are none. */
  #isBeyond(fragments: Iterable<Fragment>): boolean {
    const elements = Iterator.from(fragments).reduce((sum, fragment) => sum + elementsOf(fragment), 0);
    const isTooLarge = elements > mostLookedAt;
    if (isTooLarge && !this.#isTooLarge)
      this.#options.log.warn(
        { elements },
        'service rules are too many to be compared with what was written: single ones that somebody takes are missed until the next resync',
      );
    this.#isTooLarge = isTooLarge;
    return isTooLarge;
  }
}
