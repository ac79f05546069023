// Pulls that may have brought an image of which nothing is on record yet: under way, left before their end was heard, or from an agent before this one.
import type { Clock } from '../../base/clock.ts';
import { fullNameOf, repositoryOf } from '../../component-helpers/image-reference.ts';
import type { Image } from '../../rpc-api/generated/cri-v1.ts';
import type { PullRecords } from './pull-records.ts';

/** When the runtime has surely ended what was cancelled. */
const leftMs = 60_000;

export const namesOf = ({ repoTags = [], repoDigests = [] }: Image): readonly string[] => [
  ...repoTags,
  ...repoDigests,
];

/** By which a pull brings what this name means: also other ones of its repository, and each one when it is none (an id). */
function namesBehind(image: string, there: Image): ReadonlySet<string> {
  const all = namesOf(there);
  const alike = all.filter((name) => repositoryOf(name) === repositoryOf(image));
  return new Set([image, ...(alike.length > 0 ? alike : all)].map(fullNameOf));
}

/** An intent stays on record until it is known what became of all pulls of its name. */
export class PullIntents {
  readonly #records: PullRecords;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #underWay = new Map<string, number>();
  readonly #leftAt = new Map<string, number>();
  /** What each name was the name of when its intent was written; undefined when it was none, or nobody knows. */
  readonly #before = new Map<string, string | undefined>();

  constructor(records: PullRecords, clock: Pick<Clock, 'monotonic'>) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Those of an agent before this one: what they brought may be there already, or come in a moment. */
  async adopt(): Promise<void> {
    for (const image of await this.#records.intents()) this.#adopt(image);
  }

  /** `before`: what the name means now. */
  async begin(image: string, before: Image | undefined): Promise<void> {
    if (!this.#before.has(image)) {
      // One that can't be read was not adopted, but somebody wrote it.
      const isForeign = await this.#records.hasIntent(image).catch(() => true);
      if (isForeign) this.#adopt(image);
      else this.#before.set(image, before?.id);
    }
    await this.#records.writeIntent(image);
    this.#underWay.set(image, (this.#underWay.get(image) ?? 0) + 1);
  }

  async end(image: string): Promise<void> {
    const count = (this.#underWay.get(image) ?? 1) - 1;
    if (count > 0) this.#underWay.set(image, count);
    else this.#underWay.delete(image);
    if (count === 0 && !this.#leftAt.has(image)) await this.#remove(image);
  }

  async leave(image: string): Promise<void> {
    this.#leftAt.set(image, this.#clock.monotonic());
    await this.end(image);
  }

  /** Those that were left so long ago that what is there now is what became of them. */
  overdue(): readonly string[] {
    const now = this.#clock.monotonic();
    return [...this.#leftAt].flatMap(([image, atMs]) => (now - atMs < leftMs ? [] : [image]));
  }

  /** What they brought is on record. */
  async settled(image: string): Promise<void> {
    if (!this.#underWay.has(image)) await this.#remove(image);
    this.#leftAt.delete(image);
  }

  /** No pull has brought this image under this name, whatever intent there is. */
  wasThere(image: string, { id }: Image): boolean {
    return id !== undefined && this.#before.get(image) === id;
  }

  /** Throws when its own intent can't be read. */
  async mayHaveBrought(image: string, there: Image): Promise<boolean> {
    if (!this.wasThere(image, there) && (await this.#records.hasIntent(image))) return true;
    const names = namesBehind(image, there);
    const intents = await this.#records.intents();
    return intents.some((intent) => names.has(fullNameOf(intent)) && !this.wasThere(intent, there));
  }

  #adopt(image: string): void {
    this.#before.set(image, undefined);
    this.#leftAt.set(image, this.#clock.monotonic());
  }

  async #remove(image: string): Promise<void> {
    await this.#records.removeIntent(image);
    this.#before.delete(image);
  }
}
