// Keeps what is on its way into a namespace in the store, written by compare-and-swap.
import { namespaces, type pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { meta, obj, objs, spec, str } from '../../apimachinery/json-access.ts';
import { formatQuantity, parseQuantity } from '../../apimachinery/quantity.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { decodeEntry, encodeDraft } from '../../apiserver/registry/encode.ts';
import type { Clock } from '../../base/clock.ts';
import type { Reservation, Reservations, Reserved } from '../../component-helpers/quota-reservations.ts';
import type { CachedObject, CacheSource, ResourceCache } from '../../storage/watch/resource-cache.ts';

/**
 * A server that let something through and was not heard of it for so long, by our own clock, has failed: what a record
 * says of time is another's clock.
 */
const forgottenMs = 30_000;

const written = ({ id, name, replaces, resource, shape, usage }: Reservation): JsonObject => ({
  id,
  name,
  resource: {
    group: resource.group,
    version: resource.version,
    resource: resource.resource,
    kind: resource.kind,
  },
  usage: Object.fromEntries([...usage].map(([key, amount]) => [key, formatQuantity(amount)])),
  ...(replaces === undefined ? {} : { replaces }),
  ...(shape === undefined ? {} : { shape: shape as unknown as Json }),
});

const read = (from: JsonObject): Reservation => ({
  id: str(from['id']),
  name: str(from['name']),
  replaces: from['replaces'] === undefined ? undefined : str(from['replaces']),
  resource: obj(from['resource']) as unknown as ResourceRef<typeof pods>,
  usage: new Map(Object.entries(obj(from['usage'])).map(([key, text]) => [key, parseQuantity(str(text))])),
  shape: from['shape'] as Pod | undefined,
});

/** `/registry/reservations/resourcequotas/<namespace>`: one record for all quotas of a namespace. No API serves it. */
export const reservationCache = (caches: CacheSource): ResourceCache =>
  caches.cache({ group: 'reservations', resource: 'resourcequotas' }, (object) => {
    const { name, uid } = meta(object as JsonObject);
    return { namespace: '', name: str(name), uid: str(uid), labels: {}, fields: {} };
  });

/** What only this server knows of a reservation. */
interface Known {
  readonly sinceMs: number;
  /** Its own, whose write has ended. */
  hasEnded: boolean;
}

export class StoredReservations implements Reservations {
  readonly #cache: ResourceCache;
  readonly #live: LiveObjects;
  readonly #clock: Clock;
  /** By namespace and id: no more than its record says. */
  readonly #known = new Map<string, ReadonlyMap<string, Known>>();

  constructor(deps: { readonly cache: ResourceCache; readonly live: LiveObjects; readonly clock: Clock }) {
    this.#cache = deps.cache;
    this.#live = deps.live;
    this.#clock = deps.clock;
  }

  end(namespace: string, id: string): void {
    const known = this.#known.get(namespace)?.get(id);
    if (known !== undefined) known.hasEnded = true;
  }

  async read(namespace: string): Promise<Reserved> {
    await this.#cache.fresh();
    const current = this.#cache.get('', namespace);
    const said = current === undefined ? [] : objs(spec(decodeEntry(current.value))['reserved']).map(read);
    const known = this.#remember(namespace, said);
    const now = this.#clock.monotonic();
    const isOnItsWay = (one: Reservation): boolean => {
      const { hasEnded, sinceMs } = known.get(one.id)!;
      return !hasEnded && now - sinceMs < forgottenMs && this.awaitsWrite(namespace, one);
    };
    return { all: said.filter(isOnItsWay), state: current };
  }

  awaitsWrite(namespace: string, { name, replaces, resource }: Reservation): boolean {
    if (replaces === undefined) return !this.#live.has(resource, name, namespace);
    const live = this.#live.get(resource, name, namespace);
    return live !== undefined && str(meta(live as JsonObject)['resourceVersion']) === replaces;
  }

  #remember(namespace: string, all: readonly Reservation[]): ReadonlyMap<string, Known> {
    const before = this.#known.get(namespace);
    const sinceMs = this.#clock.monotonic();
    const known = new Map(all.map(({ id }) => [id, before?.get(id) ?? { sinceMs, hasEnded: false }]));
    this.#known.set(namespace, known);
    return known;
  }

  async write(namespace: string, { state }: Reserved, all: readonly Reservation[]): Promise<boolean> {
    const current = state as CachedObject | undefined;
    const record: JsonObject = {
      kind: 'QuotaReservations',
      apiVersion: 'internal.porthole.dev/v1',
      metadata: { name: namespace },
      spec: { reserved: all.map(written) },
    };
    const draft = encodeDraft(record);
    const outcome =
      current === undefined
        ? await this.#cache.create('', namespace, draft, record)
        : await this.#cache.update('', namespace, draft, record, current.revision);
    if (outcome.ok) this.#remember(namespace, all);
    return outcome.ok;
  }

  /** Records of namespaces that are no more. */
  async tidy(): Promise<void> {
    const { items } = this.#cache.list({ namespace: '', limit: Number.MAX_SAFE_INTEGER });
    const gone = items.filter(({ index }) => !this.#live.has(namespaces, index.name, ''));
    for (const namespace of this.#known.keys())
      if (!this.#live.has(namespaces, namespace, '')) this.#known.delete(namespace);
    await Promise.all(
      gone.map((item) => {
        const record = decodeEntry(item.value);
        return this.#cache.delete('', item.index.name, encodeDraft(record), record, item.revision);
      }),
    );
  }
}
