// Keeps an APIService for each group and version that is served here: built in, or by a definition of custom resources.
import { apiservices } from '../../api/generated/resources.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { isObject, meta, nameOf, obj, spec, str } from '../../apimachinery/json-access.ts';
import { availableCondition } from '../../apiserver/aggregator/remote-service.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { ResourceStore } from '../../apiserver/registry/store.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import { locallyAvailable, writeAvailability } from './write-availability.ts';

const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** As it shall be. */
export interface LocalService {
  readonly name: string;
  /** onstart: built in; true: as long as a definition serves it. */
  readonly managed: 'onstart' | 'true';
  /** Whoever names another server there has it: what is built in serves as long as nobody does. */
  readonly stepsAside?: true;
  /** Beside what says who manages it. */
  readonly metadata?: { readonly labels: JsonObject; readonly annotations: JsonObject };
  readonly spec: JsonObject;
}

/** With upstream's priorities of custom resources. */
export const customService = (group: string, version: string): LocalService => ({
  name: `${version}.${group}`,
  managed: 'true',
  spec: { group, version, groupPriorityMinimum: 1000, versionPriority: 100 },
});

export type LocalChange =
  | { readonly kind: 'create' | 'update'; readonly wanted: LocalService }
  | { readonly kind: 'delete'; readonly name: string; readonly uid: string }
  | { readonly kind: 'available'; readonly name: string };

function isSaidToBeLocal(apiService: JsonObject): boolean {
  const condition = availableCondition(apiService);
  return condition?.['status'] === 'True' && condition['reason'] === 'Local';
}

/**
 * As upstream, whoever takes the label away from that of a definition has it for themselves. What is built in is nobody
 * else's: it is mended, whatever it says, but for what another server may take over.
 */
export function localChanges(
  current: readonly JsonObject[],
  wanted: ReadonlyMap<string, LocalService>,
): LocalChange[] {
  const changes: LocalChange[] = [];
  const found = new Set<string>();
  for (const one of current) {
    const name = nameOf(one);
    found.add(name);
    const own = wanted.get(name);
    const managed = str(obj(meta(one)['labels'])[managedLabel]);
    if (own === undefined) {
      if (managed === 'true') changes.push({ kind: 'delete', name, uid: str(meta(one)['uid']) });
      continue;
    }
    const isTaken = own.stepsAside === true && isObject(spec(one)['service']);
    const isOurs = !isTaken && (own.managed === 'onstart' || managed === 'onstart' || managed === 'true');
    if (isOurs && !jsonEqual(spec(one), own.spec)) changes.push({ kind: 'update', wanted: own });
    else if (!isObject(spec(one)['service']) && !isSaidToBeLocal(one))
      changes.push({ kind: 'available', name });
  }
  for (const own of wanted.values()) if (!found.has(own.name)) changes.push({ kind: 'create', wanted: own });
  return changes;
}

/** A definition that another server has seen may come here later than its APIService. */
const graceMs = 2_000;
const backoff: Backoff = { firstMs: 500, longestMs: 60_000 };

export interface LocalApiServicesDeps {
  readonly store: ResourceStore;
  readonly live: LiveObjects;
  readonly wanted: () => ReadonlyMap<string, LocalService>;
  readonly clock: Clock;
  readonly log: Logger;
}

export class LocalApiServices {
  readonly #deps: LocalApiServicesDeps;
  /** By uid, since when nobody wants them: those that are deleted after a while. */
  #unwanted = new Map<string, number>();
  /** By name, until when they are another's. */
  readonly #aside = new Map<string, number>();
  #running = false;
  #again = false;
  #isClosed = false;
  #failures = 0;
  #cancel: () => void = () => {};

  constructor(deps: LocalApiServicesDeps) {
    this.#deps = deps;
  }

  /** Somebody is about to create it for another server. If that fails, it is made anew. */
  async stepAside(name: string): Promise<void> {
    const { clock, live, store, wanted } = this.#deps;
    const there = live.get(apiservices, name);
    if (wanted().get(name)?.stepsAside !== true || there === undefined) return;
    if (there.spec?.service !== undefined) return;
    this.#aside.set(name, clock.monotonic() + graceMs);
    await store.delete('', name, { uid: there.metadata.uid });
    this.#lookLater();
  }

  /** Something changed. */
  look(): void {
    if (this.#isClosed) return;
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    // Definitions come in heaps; one pass is for all that came in this round.
    queueMicrotask(() => void this.#passes());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  async #passes(): Promise<void> {
    let failed = false;
    while (this.#again && !this.#isClosed) {
      this.#again = false;
      failed = await this.#pass().catch((error: unknown) => {
        // One of them can't be read now: its key may come back.
        this.#deps.log.warn({ error }, 'the APIServices of this server were not looked at');
        return true;
      });
    }
    this.#running = false;
    this.#failures = failed ? this.#failures + 1 : 0;
    this.#lookLater();
  }

  /** For what failed, and for what is unwanted for too short a time. */
  #lookLater(): void {
    const { clock } = this.#deps;
    this.#cancel();
    const due = [...[...this.#unwanted.values()].map((since) => since + graceMs), ...this.#aside.values()];
    if (this.#isClosed || (this.#failures === 0 && due.length === 0)) return;
    const dueAt = Math.min(...due);
    const ms = this.#failures > 0 ? backoffMs(backoff, this.#failures) : dueAt - clock.monotonic();
    this.#cancel = clock.timer(Math.max(0, ms), () => this.look());
  }

  /** Whether something could not be written. */
  async #pass(): Promise<boolean> {
    const { live, wanted, clock, log } = this.#deps;
    const before = this.#unwanted;
    this.#unwanted = new Map();
    const now = clock.monotonic();
    let failed = false;
    for (const [name, until] of this.#aside) if (until <= now) this.#aside.delete(name);
    const current = live.list(apiservices) as unknown as JsonObject[];
    const changes = localChanges(current, wanted()).filter(
      (change) => change.kind !== 'create' || !this.#aside.has(change.wanted.name),
    );
    await Promise.all(
      changes.map(async (change) => {
        const since = change.kind === 'delete' ? (before.get(change.uid) ?? now) : now;
        if (change.kind === 'delete' && now - since < graceMs) {
          this.#unwanted.set(change.uid, since);
          return;
        }
        try {
          await this.#write(change);
        } catch (error) {
          if (this.#isClosed || isPassing(error)) return;
          log.warn({ error, change }, 'an APIService of this server was not written');
          failed = true;
          if (change.kind === 'delete') this.#unwanted.set(change.uid, since);
        }
      }),
    );
    return failed;
  }

  async #write(change: LocalChange): Promise<void> {
    const { store, clock } = this.#deps;
    if (change.kind === 'delete') {
      await store.delete('', change.name, { uid: change.uid });
      return;
    }
    if (change.kind === 'available') {
      await writeAvailability(store, change.name, locallyAvailable, rfc3339(clock.now()));
      return;
    }
    const { name, managed, spec: wanted, metadata } = change.wanted;
    const labels = { ...metadata?.labels, [managedLabel]: managed };
    if (change.kind === 'create') {
      await store.create('', {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { ...metadata, name, labels },
        spec: wanted,
      });
      return;
    }
    await store.update('', name, (current) => ({
      ...current!,
      metadata: { ...meta(current!), labels: { ...obj(meta(current!)['labels']), ...labels } },
      spec: wanted,
    }));
  }
}

/** Somebody else was faster; what they did is looked at. */
const isPassing = (error: unknown): boolean =>
  ['AlreadyExists', 'NotFound', 'Conflict'].some((reason) => isStatusError(error, reason));
