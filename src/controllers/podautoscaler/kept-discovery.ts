// What the server serves, kept for a while: a thousand autoscalers ask for it four times in a minute.
import type { Discovery } from '../../client/discovery.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';

/** As upstream's mapper is made anew. */
const keptMs = 30_000;
/** What is not there yet is looked for again no sooner. */
const againMs = 5_000;

export class KeptDiscovery {
  readonly #context: Pick<ControllerContext, 'discover' | 'clock'>;
  #kept: { readonly at: number; readonly of: Promise<Discovery> } | undefined;

  constructor(context: Pick<ControllerContext, 'discover' | 'clock'>) {
    this.#context = context;
  }

  /** As it was lately; as it is, if that is not enough. */
  async with(isEnough: (discovery: Discovery) => boolean): Promise<Discovery> {
    const known = await this.#ask(keptMs);
    return isEnough(known) ? known : this.#ask(againMs);
  }

  #ask(maxAgeMs: number): Promise<Discovery> {
    const { clock, discover } = this.#context;
    const now = clock.monotonic();
    if (this.#kept === undefined || now - this.#kept.at >= maxAgeMs) {
      const of = discover();
      this.#kept = { at: now, of };
      // Whoever asks next is not told of what failed.
      of.catch(() => {
        if (this.#kept?.of === of) this.#kept = undefined;
      });
    }
    return this.#kept.of;
  }
}
