// Keeps the condition Available of APIServices of other servers: upstream's remote availability controller.
import { endpointslices, services } from '../../api/generated/resources.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { AskRemote } from '../../apiserver/aggregator/remote-questions.ts';
import type { RemoteService } from '../../apiserver/aggregator/remote-service.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import { Places } from '../../base/turns.ts';
import type { Logger } from '../../component-base/logger.ts';
import { followCache, type Seen } from '../follow-cache.ts';
import { checkAvailability } from './availability-check.ts';
import { type Availability, writeAvailability } from './write-availability.ts';

/** Nobody tells when a network breaks. */
const resyncMs = 30_000;
const backoff: Backoff = { firstMs: 5, longestMs: 30_000 };
/** APIServices that are looked at together. */
const workers = 5;

interface Checked {
  remote: RemoteService;
  running: boolean;
  again: boolean;
  failures: number;
  cancel: () => void;
}

export interface AvailabilityDeps {
  readonly api: Pick<ApiServer, 'store'>;
  readonly live: LiveObjects;
  readonly ask: AskRemote;
  readonly clock: Clock;
  readonly log: Logger;
  /** An APIService is no longer available. */
  readonly lost: (name: string, reason: string) => void;
}

export class AvailabilityController {
  readonly #deps: AvailabilityDeps;
  readonly #checked = new Map<string, Checked>();
  readonly #places = new Places(workers);
  readonly #stop: (() => void)[];
  #isClosed = false;

  constructor(deps: AvailabilityDeps) {
    this.#deps = deps;
    const follow = (group: string, resource: string, nameOf: (seen: Seen) => string): (() => void) =>
      followCache(deps.api.store(group, 'v1', resource).cache, (seen) =>
        this.#changed(seen?.map((one) => `${one.namespace}/${nameOf(one)}`)),
      );
    this.#stop = [
      follow(services.group, services.resource, ({ name }) => name),
      follow(endpointslices.group, endpointslices.resource, (slice) => serviceOf(slice)),
    ];
  }

  /** `changed`: names of APIServices whose server is another now. */
  set(remotes: readonly RemoteService[], changed: ReadonlySet<string>): void {
    const names = new Set(remotes.map(({ name }) => name));
    for (const [name, checked] of this.#checked)
      if (!names.has(name)) {
        checked.cancel();
        this.#checked.delete(name);
      }
    for (const remote of remotes) {
      const known = this.#checked.get(remote.name);
      if (known !== undefined) known.remote = remote;
      else
        this.#checked.set(remote.name, {
          remote,
          running: false,
          again: false,
          failures: 0,
          cancel: () => {},
        });
      if (known === undefined || changed.has(remote.name)) this.#check(remote.name);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stop) stop();
    for (const { cancel } of this.#checked.values()) cancel();
  }

  /** `seen`: Services about which something changed; undefined: any. */
  #changed(seen: readonly string[] | undefined): void {
    for (const [name, { remote }] of this.#checked)
      if (seen === undefined || seen.includes(`${remote.service.namespace}/${remote.service.name}`))
        this.#check(name);
  }

  #check(name: string): void {
    const checked = this.#checked.get(name);
    if (checked === undefined || this.#isClosed) return;
    checked.cancel();
    if (checked.running) {
      checked.again = true;
      return;
    }
    checked.running = true;
    void this.#look(checked).then((worked) => this.#next(checked, worked));
  }

  #next(checked: Checked, worked: boolean): void {
    const { name } = checked.remote;
    checked.running = false;
    if (this.#isClosed || this.#checked.get(name) !== checked) return;
    checked.failures = worked ? 0 : checked.failures + 1;
    const waitMs = worked ? resyncMs : backoffMs(backoff, checked.failures);
    if (checked.again) {
      checked.again = false;
      this.#check(name);
    } else checked.cancel = this.#deps.clock.timer(waitMs, () => this.#check(name));
  }

  /** Whether there is nothing to be looked at again soon. */
  async #look(checked: Checked): Promise<boolean> {
    const { log } = this.#deps;
    const leave = await this.#places.take();
    const { remote } = checked;
    try {
      // A thousand of dead servers wait for minutes: who is gone by then takes no more of that time from others, nor from who stops.
      if (this.#isClosed || this.#checked.get(remote.name) !== checked) return true;
      const found = await checkAvailability(remote, this.#deps);
      if (this.#isClosed) return true;
      await this.#write(remote, found);
      return found.reason !== 'FailedDiscoveryCheck';
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return true;
      log.warn({ error, apiService: remote.name }, 'availability of an APIService not written');
      return false;
    } finally {
      leave();
    }
  }

  async #write({ name }: RemoteService, found: Availability): Promise<void> {
    const { api, clock, lost } = this.#deps;
    const before = await writeAvailability(
      api.store('apiregistration.k8s.io', 'v1', 'apiservices'),
      name,
      found,
      rfc3339(clock.now()),
    );
    if (before?.status === 'True' && found.status !== 'True') lost(name, found.reason);
  }
}

const serviceOf = ({ labels }: Seen): string => labels['kubernetes.io/service-name'] ?? '';
