// Gives a Service its cluster IP and node ports before it is stored, and takes them back when it is gone.
import type { Service, ServicePort } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { internalError, invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import type { HookContext, WriteHooks } from '../../apiserver/registry/write-hooks.ts';
import type { IpAllocator } from './ip-allocator.ts';
import type { PortAllocator } from './port-allocator.ts';
import { defaultFamilies, needsClusterIp } from './service-families.ts';

export interface ServiceAllocationDeps {
  readonly ips: IpAllocator;
  readonly ports: PortAllocator;
  readonly cidr: string;
  /** Writes and removes the IPAddress objects that mirror the allocations. */
  readonly records: {
    put(ip: string, service: { readonly namespace: string; readonly name: string }): Promise<void>;
    remove(ip: string): void;
  };
}

type Undo = () => void;

const refuse = (service: Service, errors: readonly FieldError[]): never => {
  throw invalidObject({ group: '', kind: 'Service' }, service.metadata?.name ?? '', errors);
};

const wantsNodePorts = (service: Service): boolean =>
  service.spec?.type === 'NodePort' ||
  (service.spec?.type === 'LoadBalancer' && service.spec.allocateLoadBalancerNodePorts !== false);

const wantsHealthCheckPort = (service: Service): boolean =>
  service.spec?.type === 'LoadBalancer' && service.spec.externalTrafficPolicy === 'Local';

const nodePortsOf = (service: Service | undefined): number[] =>
  [
    ...(service?.spec?.ports ?? []).map((port) => port.nodePort ?? 0),
    service?.spec?.healthCheckNodePort ?? 0,
  ].filter((port) => port > 0);

const clusterIpOf = (service: Service | undefined): string | undefined => {
  const ip = service?.spec?.clusterIP;
  return ip === undefined || ip === '' || ip === 'None' ? undefined : ip;
};

/** What a PUT or apply leaves out is carried over from the stored Service, as upstream's patchAllocatedValues. */
function carryOver(service: Service, old: Service): void {
  const { spec } = service;
  const before = old.spec;
  if (spec === undefined || before === undefined) return;
  if (spec.type !== 'ExternalName' && before.type !== 'ExternalName') {
    if ((spec.clusterIP ?? '') === '' && (spec.clusterIPs?.length ?? 0) === 0) {
      if (before.clusterIP !== undefined) spec.clusterIP = before.clusterIP;
      if (before.clusterIPs !== undefined) spec.clusterIPs = [...before.clusterIPs];
    }
    if (spec.ipFamilies === undefined && before.ipFamilies !== undefined)
      spec.ipFamilies = [...before.ipFamilies];
    if (spec.ipFamilyPolicy === undefined && before.ipFamilyPolicy !== undefined) {
      spec.ipFamilyPolicy = before.ipFamilyPolicy;
    }
  }
  if (wantsNodePorts(service) && wantsNodePorts(old)) {
    const used = new Set((spec.ports ?? []).map((port) => port.nodePort ?? 0));
    const match = (port: ServicePort): ServicePort | undefined =>
      before.ports?.find(
        (candidate) =>
          candidate.port === port.port &&
          (candidate.protocol ?? 'TCP') === (port.protocol ?? 'TCP') &&
          !used.has(candidate.nodePort ?? 0),
      );
    for (const port of spec.ports ?? []) {
      const nodePort = (port.nodePort ?? 0) === 0 ? match(port)?.nodePort : undefined;
      if (nodePort !== undefined) port.nodePort = nodePort;
    }
  }
  if (wantsHealthCheckPort(service) && wantsHealthCheckPort(old)) {
    spec.healthCheckNodePort ??= before.healthCheckNodePort;
  }
}

function normalizeClusterIps(service: Service): void {
  const spec = service.spec;
  if (spec === undefined || spec.type === 'ExternalName') return;
  const [first] = spec.clusterIPs ?? [];
  if ((spec.clusterIP ?? '') === '' && first !== undefined) spec.clusterIP = first;
  if ((spec.clusterIP ?? '') !== '' && first === undefined) spec.clusterIPs = [spec.clusterIP ?? ''];
}

/** Fields that only make sense with another type are dropped when the type changes. */
function dropStale(service: Service, old: Service | undefined): void {
  const spec = service.spec;
  if (spec === undefined) return;
  if (spec.type === 'ExternalName') {
    if (old !== undefined && spec.clusterIP === old.spec?.clusterIP) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    delete spec.internalTrafficPolicy;
  }
  if (old !== undefined && !wantsNodePorts(service) && wantsNodePorts(old)) {
    const before = nodePortsOf(old);
    for (const port of spec.ports ?? []) {
      if (before.includes(port.nodePort ?? 0)) delete port.nodePort;
    }
  }
  if (!wantsHealthCheckPort(service)) delete spec.healthCheckNodePort;
}

export function createServiceHooks(deps: ServiceAllocationDeps): WriteHooks {
  const takeClusterIp = async (service: Service, undo: Undo[], dryRun: boolean): Promise<void> => {
    const spec = service.spec;
    if (spec === undefined) return;
    const asked = clusterIpOf(service);
    let ip = asked;
    if (asked !== undefined) {
      const refusal = deps.ips.allocate(asked);
      if (refusal !== undefined) {
        const why =
          refusal === 'allocated'
            ? 'provided IP is already allocated'
            : `the provided IP (${asked}) is not in the valid range. The range of valid IPs is ${deps.cidr}`;
        refuse(service, [
          invalid('spec.clusterIPs', spec.clusterIPs ?? [asked], `failed to allocate IP ${asked}: ${why}`),
        ]);
      }
    } else {
      ip = deps.ips.allocateNext();
      if (ip === undefined) {
        throw internalError('failed to allocate a serviceIP: range is full');
      }
    }
    const given = ip ?? '';
    undo.push(() => deps.ips.release(given));
    spec.clusterIP = given;
    spec.clusterIPs = [given];
    if (dryRun) return;
    await deps.records.put(given, {
      namespace: service.metadata?.namespace ?? '',
      name: service.metadata?.name ?? '',
    });
    undo.push(() => deps.records.remove(given));
  };

  const takeNodePorts = (service: Service, old: Service | undefined, undo: Undo[]): void => {
    const held = new Set(nodePortsOf(old));
    const mine = new Set<number>();
    const take = (asked: number, field: string): number => {
      if (asked > 0 && (held.has(asked) || mine.has(asked))) return asked;
      if (asked > 0) {
        const refusal = deps.ports.allocate(asked);
        if (refusal !== undefined) {
          const why =
            refusal === 'allocated'
              ? 'provided port is already allocated'
              : `provided port is not in the valid range. The range of valid ports is ${deps.ports.first}-${deps.ports.last}`;
          refuse(service, [invalid(field, asked, why)]);
        }
        undo.push(() => deps.ports.release(asked));
        return asked;
      }
      const port = deps.ports.allocateNext();
      if (port === undefined) throw internalError('failed to allocate a nodePort: range is full');
      undo.push(() => deps.ports.release(port));
      return port;
    };
    const wanted = wantsNodePorts(service);
    (service.spec?.ports ?? []).forEach((port, i) => {
      if (!wanted && (port.nodePort ?? 0) === 0) return;
      // One number may serve several protocols of the same port.
      const twin = (service.spec?.ports ?? []).find(
        (other) => other !== port && other.port === port.port && mine.has(other.nodePort ?? 0),
      );
      const asked = port.nodePort || (twin?.nodePort ?? 0);
      port.nodePort = take(asked, `spec.ports[${i}].nodePort`);
      mine.add(port.nodePort);
    });
    if (service.spec !== undefined && wantsHealthCheckPort(service)) {
      service.spec.healthCheckNodePort = take(
        service.spec.healthCheckNodePort ?? 0,
        'spec.healthCheckNodePort',
      );
    }
  };

  const guarded = async (work: (undo: Undo[]) => Promise<void>): Promise<Undo> => {
    const undo: Undo[] = [];
    const undoAll = (): void => {
      for (const one of undo.reverse()) one();
    };
    try {
      await work(undo);
    } catch (error) {
      undoAll();
      throw error;
    }
    return undoAll;
  };

  const finish = (hook: HookContext, undoAll: Undo): Undo | undefined => {
    if (!hook.dryRun) return undoAll;
    undoAll();
    return undefined;
  };

  return {
    async beforeCreate(object: JsonObject, hook) {
      const service = object as unknown as Service;
      normalizeClusterIps(service);
      dropStale(service, undefined);
      const errors = defaultFamilies(service);
      if (errors.length > 0) refuse(service, errors);
      const undoAll = await guarded(async (undo) => {
        takeNodePorts(service, undefined, undo);
        if (needsClusterIp(service)) await takeClusterIp(service, undo, hook.dryRun);
      });
      return finish(hook, undoAll);
    },

    async beforeUpdate(object: JsonObject, oldObject: JsonObject, hook) {
      const service = object as unknown as Service;
      const old = oldObject as unknown as Service;
      carryOver(service, old);
      normalizeClusterIps(service);
      dropStale(service, old);
      const errors = defaultFamilies(service);
      if (errors.length > 0) refuse(service, errors);
      const before = clusterIpOf(old);
      const stays = service.spec?.type !== 'ExternalName' && old.spec?.type !== 'ExternalName';
      if (stays && old.spec?.clusterIP !== service.spec?.clusterIP) {
        refuse(service, [
          invalid('spec.clusterIPs[0]', service.spec?.clusterIPs ?? [], 'may not change once set'),
        ]);
      }
      const undoAll = await guarded(async (undo) => {
        takeNodePorts(service, old, undo);
        if (needsClusterIp(service) && before === undefined) await takeClusterIp(service, undo, hook.dryRun);
      });
      return finish(hook, undoAll);
    },

    afterUpdate(object: JsonObject, oldObject: JsonObject) {
      const service = object as unknown as Service;
      const old = oldObject as unknown as Service;
      const kept = new Set(nodePortsOf(service));
      for (const port of nodePortsOf(old)) if (!kept.has(port)) deps.ports.release(port);
      const ip = clusterIpOf(old);
      if (ip !== undefined && clusterIpOf(service) !== ip) {
        deps.ips.release(ip);
        deps.records.remove(ip);
      }
    },

    afterDelete(object: JsonObject) {
      const service = object as unknown as Service;
      for (const port of nodePortsOf(service)) deps.ports.release(port);
      const ip = clusterIpOf(service);
      if (ip === undefined) return;
      deps.ips.release(ip);
      deps.records.remove(ip);
    },
  };
}
