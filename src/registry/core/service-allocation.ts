// Gives a Service its cluster IP and node ports before it is stored, and takes them back when it is gone.
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import type { HookContext, Undo, WriteHooks } from '../../apiserver/registry/write-hooks.ts';
import type { Logger } from '../../component-base/logger.ts';
import { carryOver, dropStale, normalizeClusterIps } from './carry-over-service.ts';
import type { Owner } from './claims.ts';
import { type AllocatorDeps, allDone, isAddress, takeClusterIp, takePorts } from './service-allocators.ts';
import { defaultFamilies, needsClusterIp } from './service-families.ts';
import { nodePortsOf, portWishes } from './service-ports.ts';

export interface ServiceAllocationDeps extends AllocatorDeps {
  readonly log: Logger;
}

const ownerOf = ({ metadata }: Service): Owner => ({
  namespace: metadata?.namespace ?? '',
  name: metadata?.name ?? '',
});

function refuse(service: Service, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'Service' }, ownerOf(service).name, errors);
}

/** What a Service holds that is nobody else's. */
const addressOf = ({ spec }: Service): string | undefined =>
  isAddress(spec?.clusterIP) ? spec.clusterIP : undefined;

class ServiceHooks implements WriteHooks {
  readonly #deps: ServiceAllocationDeps;

  constructor(deps: ServiceAllocationDeps) {
    this.#deps = deps;
  }

  async beforeCreate(object: JsonObject, hook: HookContext): Promise<Undo | undefined> {
    const service = object as unknown as Service;
    normalizeClusterIps(service);
    dropStale(service, undefined);
    refuse(service, defaultFamilies(service));
    return this.#take(service, undefined, hook);
  }

  async beforeUpdate(
    object: JsonObject,
    oldObject: JsonObject,
    hook: HookContext,
  ): Promise<Undo | undefined> {
    const service = object as unknown as Service;
    const old = oldObject as unknown as Service;
    carryOver(service, old);
    normalizeClusterIps(service, old);
    dropStale(service, old);
    refuse(service, defaultFamilies(service, old));
    const stays = service.spec?.type !== 'ExternalName' && old.spec?.type !== 'ExternalName';
    if (stays && old.spec?.clusterIP !== service.spec?.clusterIP)
      refuse(service, [
        invalid('spec.clusterIPs[0]', service.spec?.clusterIPs ?? [], 'may not change once set'),
      ]);
    return this.#take(service, old, hook);
  }

  async afterUpdate(object: JsonObject, oldObject: JsonObject): Promise<void> {
    const service = object as unknown as Service;
    const old = oldObject as unknown as Service;
    const kept = nodePortsOf(service);
    await this.#release(old, {
      address: addressOf(service) === addressOf(old) ? undefined : addressOf(old),
      ports: nodePortsOf(old).filter((port) => !kept.includes(port)),
    });
  }

  async afterDelete(object: JsonObject): Promise<void> {
    const service = object as unknown as Service;
    await this.#release(service, { address: addressOf(service), ports: nodePortsOf(service) });
  }

  async #take(
    service: Service,
    old: Service | undefined,
    { dryRun }: HookContext,
  ): Promise<Undo | undefined> {
    const undo: Undo[] = [];
    const undoAll = async (): Promise<void> => {
      await Promise.all(undo.map((one) => one().catch((error: unknown) => this.#leftOver(error))));
    };
    const taker = { service, owner: ownerOf(service), dryRun, undo };
    const needsAddress = needsClusterIp(service) && (old === undefined || addressOf(old) === undefined);
    try {
      await allDone([
        needsAddress ? takeClusterIp(this.#deps, taker) : Promise.resolve(),
        takePorts(this.#deps, portWishes(service, old), taker),
      ]);
    } catch (error) {
      await undoAll();
      throw error;
    }
    return undo.length === 0 ? undefined : undoAll;
  }

  async #release(
    service: Service,
    { address, ports }: { readonly address: string | undefined; readonly ports: readonly number[] },
  ): Promise<void> {
    const owner = ownerOf(service);
    const works = ports.map((port) => this.#deps.ports.release(String(port), owner));
    if (address !== undefined) works.push(this.#deps.addresses.release(address, owner));
    // The Service is written: what stays taken is found by the next repair.
    await allDone(works).catch((error: unknown) => this.#leftOver(error));
  }

  #leftOver(error: unknown): void {
    this.#deps.log.warn({ error }, 'an address or port of a Service could not be given back');
  }
}

export const createServiceHooks = (deps: ServiceAllocationDeps): WriteHooks => new ServiceHooks(deps);
