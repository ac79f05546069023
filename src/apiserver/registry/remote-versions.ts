// The stored objects of a kind in a version that only a webhook can make of them: asked for in batches, once for all who
// read the same bytes, and remembered.
import type {
  Convertible,
  JsonObject,
  RemoteConversion,
  ResourceDeclaration,
} from '../../apimachinery/declaration.ts';
import { meta, str } from '../../apimachinery/json-access.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import { inTurns, type Turns } from '../../base/turns.ts';
import { stampedCopy } from '../../storage/stamp.ts';
import type { CachedObject } from '../../storage/watch/resource-cache.ts';
import { heavyBytes } from '../request-context.ts';
import { decodeEntry, decodeEntrySteps, encodeDraft, encodeDraftSteps } from './encode.ts';
import { indexRecord } from './index-record.ts';
import type { KeptConversions } from './kept-conversions.ts';
import type { ServedForm } from './served-form.ts';

/** Of one call: what is larger goes alone. Each is read, checked and written in one turn. */
const batchBytes = 64 * 1024;
/** Calls that are under way for one reader. */
const together = 4;

type Converted = ReadonlyMap<Buffer, Buffer>;

export interface RemoteVersionsDeps {
  readonly declaration: ResourceDeclaration;
  readonly conversion: RemoteConversion;
  readonly form: ServedForm;
  readonly kept: KeptConversions;
  readonly turns: Turns;
}

export class RemoteVersions {
  readonly #deps: RemoteVersionsDeps;
  /** Who is asked just now: of each value, the batch that it is in. */
  readonly #asked = new Map<Buffer, Promise<Converted>>();

  constructor(deps: RemoteVersionsDeps) {
    this.#deps = deps;
  }

  /** It is stored as it is served. */
  isServed(value: Buffer): boolean {
    return this.#deps.form.isOf(value);
  }

  /** Throws StatusError. */
  async bytes(value: Buffer): Promise<Buffer> {
    return (await this.all([value])).get(value)!;
  }

  async object(value: Buffer): Promise<JsonObject> {
    return decoded(await this.bytes(value), this.#deps.turns);
  }

  /** With what selectors may ask of them in this version. */
  async items(items: readonly CachedObject[]): Promise<CachedObject[]> {
    const { declaration, turns } = this.#deps;
    const converted = await this.all(items.map(({ value }) => value));
    const served: CachedObject[] = [];
    for (const item of items) {
      const value = converted.get(item.value)!;
      if (value === item.value) served.push(item);
      else {
        const index = indexRecord(declaration, await decoded(value, turns));
        served.push({ key: item.key, revision: item.revision, value, index });
      }
    }
    return served;
  }

  /** Every value as it is served. Throws StatusError. */
  async all(values: readonly Buffer[]): Promise<Converted> {
    const { kept, declaration } = this.#deps;
    const found = new Map<Buffer, Buffer>();
    const waiting = new Map<Buffer, Promise<Converted>>();
    const missing: Buffer[] = [];
    for (const value of new Set(values)) {
      const known = this.isServed(value) ? value : kept.get(value, declaration);
      const asked = known === undefined ? this.#asked.get(value) : undefined;
      if (known !== undefined) found.set(value, known);
      else if (asked !== undefined) waiting.set(value, asked);
      else missing.push(value);
    }
    await fewAtOnce(batchesOf(missing), together, async (batch) => {
      for (const [value, converted] of await this.#once(batch)) found.set(value, converted);
    });
    for (const [value, batch] of waiting) found.set(value, (await batch).get(value)!);
    return found;
  }

  async #once(batch: readonly Buffer[]): Promise<Converted> {
    const asking = this.#ask(batch);
    for (const value of batch) this.#asked.set(value, asking);
    try {
      return await asking;
    } finally {
      for (const value of batch) if (this.#asked.get(value) === asking) this.#asked.delete(value);
    }
  }

  async #ask(batch: readonly Buffer[]): Promise<Converted> {
    const { conversion, declaration, kept, turns } = this.#deps;
    await turns.take();
    const objects: Convertible[] = [];
    for (const bytes of batch) objects.push({ object: await decoded(bytes, turns), bytes });
    const answers = await conversion.toServed(objects);
    const converted = new Map<Buffer, Buffer>();
    await turns.take();
    for (const [i, value] of batch.entries()) {
      const served = await encoded(answers[i]!, value.length, turns);
      converted.set(value, served);
      kept.put(value, declaration, served);
    }
    return converted;
  }
}

function batchesOf(values: readonly Buffer[]): Buffer[][] {
  const batches: Buffer[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const value of values) {
    size += value.length;
    if (size > batchBytes) {
      batches.push([value]);
      size = value.length;
    } else batches.at(-1)!.push(value);
  }
  return batches;
}

const decoded = (value: Buffer, turns: Turns): JsonObject | Promise<JsonObject> =>
  value.length <= heavyBytes ? decodeEntry(value) : inTurns(decodeEntrySteps(value), turns);

/** As stored objects are written, so that all that is done with those can be done with it. */
async function encoded(object: JsonObject, size: number, turns: Turns): Promise<Buffer> {
  const draft = size <= heavyBytes ? encodeDraft(object) : await inTurns(encodeDraftSteps(object), turns);
  return stampedCopy(draft, str(meta(object)['resourceVersion']));
}
