// Names that are one Service's alone (cluster IPs, node ports): creating the record of a name is taking it. The store
// lets one create win, so any number of servers give nothing twice, and nobody keeps a list of what is taken.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { meta, obj, spec, str } from '../../apimachinery/json-access.ts';
import { decodeEntry, encodeDraft } from '../../apiserver/registry/encode.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { CachedObject, ResourceCache } from '../../storage/watch/resource-cache.ts';

export interface Owner {
  readonly namespace: string;
  readonly name: string;
}

/** What is known of a name that is taken. */
export interface Claim {
  readonly name: string;
  /** Undefined: somebody else's than a Service's. */
  readonly owner: Owner | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdMs: number;
  readonly object: CachedObject;
}

/** Kind, version and labels of the records. */
export interface RecordForm {
  readonly kind: string;
  readonly apiVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const isSame = (a: Owner | undefined, b: Owner): boolean => a?.namespace === b.namespace && a.name === b.name;

function claimOf(object: CachedObject): Claim {
  const record = decodeEntry(object.value);
  const { name, labels, creationTimestamp } = meta(record);
  const parent = obj(spec(record)['parentRef']);
  const isService = str(parent['group']) === '' && parent['resource'] === 'services';
  return {
    name: str(name),
    owner: isService ? { namespace: str(parent['namespace']), name: str(parent['name']) } : undefined,
    labels: obj(labels) as Record<string, string>,
    createdMs: Date.parse(str(creationTimestamp)),
    object,
  };
}

/** What a record says beside its metadata: the form of networking.k8s.io/v1 IPAddress. */
export const claimSpec = ({ namespace, name }: Owner): JsonObject => ({
  parentRef: { group: '', resource: 'services', namespace, name },
});

export class Claims {
  readonly #cache: ResourceCache;
  readonly #form: RecordForm;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #read = new WeakMap<CachedObject, Claim>();

  constructor(
    cache: ResourceCache,
    form: RecordForm,
    deps: { readonly clock: Clock; readonly random: Random },
  ) {
    this.#cache = cache;
    this.#form = form;
    this.#clock = deps.clock;
    this.#random = deps.random;
  }

  /** As far as this server has heard: only `take` knows. */
  isTaken(name: string): boolean {
    return this.#cache.get('', name) !== undefined;
  }

  all(): readonly Claim[] {
    const { items } = this.#cache.list({ namespace: '', limit: Number.MAX_SAFE_INTEGER });
    return items.map((item) => {
      const claim = this.#read.get(item) ?? claimOf(item);
      this.#read.set(item, claim);
      return claim;
    });
  }

  /** Undefined: it is another's. Else what gives exactly this claim back, and no later one of the same name. */
  async take(name: string, owner: Owner): Promise<(() => Promise<void>) | undefined> {
    const { kind, apiVersion, labels } = this.#form;
    const record: JsonObject = {
      kind,
      apiVersion,
      metadata: {
        name,
        uid: this.#random.uuid(),
        creationTimestamp: rfc3339(this.#clock.now()),
        ...(labels === undefined ? {} : { labels: labels as Record<string, Json> }),
      },
      spec: claimSpec(owner),
    };
    const written = await this.#cache.create('', name, encodeDraft(record), record);
    if (!written.ok) return undefined;
    const { revision } = written.entry;
    return async () => {
      await this.#cache.delete('', name, encodeDraft(record), record, revision);
    };
  }

  /** Gives back what this owner has; another's stays. */
  async release(name: string, owner: Owner): Promise<void> {
    await this.#cache.fresh();
    const live = this.#cache.get('', name);
    if (live === undefined) return;
    const claim = claimOf(live);
    if (isSame(claim.owner, owner)) await this.remove(claim);
  }

  /** Unless it was written since it was looked at. */
  async remove({ name, object }: Claim): Promise<void> {
    const record = decodeEntry(object.value);
    await this.#cache.delete('', name, encodeDraft(record), record, object.revision);
  }
}
