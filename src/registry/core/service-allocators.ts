// The allocators of cluster IPs and node ports, filled from the Services that exist, and the IPAddress objects beside them.
import { ipaddresses, services } from '../../api/generated/resources.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { ResourceStore } from '../../apiserver/registry/store.ts';
import { parseIpv4Cidr } from '../../base/ipv4.ts';
import type { Random } from '../../base/random.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createIpAllocator } from './ip-allocator.ts';
import { createPortAllocator } from './port-allocator.ts';
import type { ServiceAllocationDeps } from './service-allocation.ts';

export interface ServiceAllocatorOptions {
  readonly live: LiveObjects;
  readonly random: Random;
  readonly log: Logger;
  readonly serviceCidr: string;
  readonly nodePorts: { readonly first: number; readonly last: number };
  /** The registry of IPAddress objects; asked for only once the server stands. */
  addresses(): ResourceStore;
}

export interface ServiceAllocators extends ServiceAllocationDeps {
  /** Takes what stored Services hold and makes IPAddress objects agree. Before the first request. */
  repair(): Promise<void>;
}

const addressObject = (ip: string, service: { namespace: string; name: string }): JsonObject => ({
  kind: 'IPAddress',
  apiVersion: 'networking.k8s.io/v1',
  metadata: {
    name: ip,
    labels: {
      'ipaddress.kubernetes.io/ip-family': 'IPv4',
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    },
  },
  spec: { parentRef: { group: '', resource: 'services', ...service } },
});

export function createServiceAllocators(options: ServiceAllocatorOptions): ServiceAllocators {
  const { live, log, random, serviceCidr } = options;
  const cidr = parseIpv4Cidr(serviceCidr);
  if (cidr === undefined)
    throw new Error(`service CIDR ${JSON.stringify(serviceCidr)} is not an IPv4 prefix`);
  const ips = createIpAllocator(cidr, random);
  const ports = createPortAllocator(options.nodePorts, random);

  const put = async (ip: string, service: { namespace: string; name: string }): Promise<void> => {
    try {
      await options.addresses().create('', addressObject(ip, service));
    } catch (error) {
      // Left over from a Service whose removal is still on its way: the allocator decides, not the record.
      if (!isStatusError(error, 'AlreadyExists')) throw error;
      await options.addresses().update('', ip, (current) => ({
        ...current,
        spec: addressObject(ip, service).spec,
      }));
    }
  };
  const remove = (ip: string): void => {
    // Given again meanwhile: then the record belongs to the new holder.
    const work = ips.has(ip) ? Promise.resolve() : options.addresses().delete('', ip, {});
    work.then(
      () => {},
      (error: unknown) => {
        if (!isStatusError(error, 'NotFound')) log.warn({ ip, error }, 'IPAddress could not be removed');
      },
    );
  };

  return {
    ips,
    ports,
    cidr: serviceCidr,
    records: { put, remove },
    async repair() {
      const held = new Map<string, { namespace: string; name: string }>();
      for (const service of live.list(services)) {
        const { namespace = '', name = '' } = service.metadata ?? {};
        const ip = service.spec?.clusterIP;
        if (ip !== undefined && ip !== '' && ip !== 'None') {
          const refusal = ips.allocate(ip);
          if (refusal === undefined) held.set(ip, { namespace, name });
          else log.error({ namespace, name, ip, refusal }, 'the cluster IP of a Service can not be kept');
        }
        for (const port of service.spec?.ports ?? []) {
          if ((port.nodePort ?? 0) > 0) ports.allocate(port.nodePort ?? 0);
        }
        if ((service.spec?.healthCheckNodePort ?? 0) > 0)
          ports.allocate(service.spec?.healthCheckNodePort ?? 0);
      }
      const records = new Set(live.list(ipaddresses).map((address) => address.metadata?.name ?? ''));
      await Promise.all([
        ...[...held].filter(([ip]) => !records.has(ip)).map(([ip, service]) => put(ip, service)),
        ...[...records].filter((ip) => !held.has(ip)).map((ip) => options.addresses().delete('', ip, {})),
      ]);
    },
  };
}
