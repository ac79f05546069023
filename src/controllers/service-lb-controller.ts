// Gives Services of type LoadBalancer an address that the machine reaches, as a cloud's controller would (upstream: cloud-provider's service controller).
import { nodes, services } from '../api/generated/resources.ts';
import type { Service } from '../api/generated/types/core-v1.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { AddressPool, ingressIPs, isBalancedHere } from './service-lb/address-pool.ts';

const sameIngress = (a: Service, ip: string | undefined): boolean => {
  const ingress = a.status?.loadBalancer?.ingress ?? [];
  if (ip === undefined) return ingress.length === 0;
  return ingress.length === 1 && ingress[0]?.ip === ip && ingress[0].ipMode === 'VIP';
};

/** `range`: a prefix that leads to the cluster's nodes and is nobody else's, `172.30.0.128/25`. */
export function serviceLoadBalancerController(range: string): Controller {
  const pool = new AddressPool(range);
  return defineController({
    name: 'service-lb-controller',
    queue: 'service',
    serviceAccount: 'service-controller',
    for: services,
    reads: [nodes],
    access: [may('patch', services, 'status'), mayRecordEvents],
    // Who waits for an address that another had; a Service that goes enqueues nobody else.
    resyncMs: 60_000,
    // One after the other: an address is nobody's until it is given.
    concurrency: 1,
    async reconcile({ name, namespace }, context) {
      const key = `${namespace}/${name}`;
      const all = context.read(services);
      const service = all.get(name, namespace);
      if (service === undefined || !isBalancedHere(service)) pool.free(key);
      if (service === undefined) return undefined;
      const has = ingressIPs(service);
      const say = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
        context.events.event(referenceTo(services, service), type, reason, message);
      const write = async (ip: string | undefined): Promise<void> => {
        const loadBalancer = ip === undefined ? null : { ingress: [{ ip, ipMode: 'VIP' }] };
        const { uid, resourceVersion } = service.metadata;
        const body = { metadata: { uid, resourceVersion }, status: { loadBalancer } };
        await context.write.patch(
          services,
          { name, namespace },
          { type: 'merge', body },
          { subresource: 'status' },
        );
      };
      if (!isBalancedHere(service)) {
        if (!has.some((ip) => pool.has(ip))) return undefined;
        await write(undefined);
        say('Normal', 'DeletedLoadBalancer', 'Deleted load balancer');
        return undefined;
      }
      // What another balancer gave stays, and is asked for nothing.
      if (has.length > 0 && !has.some((ip) => pool.has(ip))) return undefined;
      const others = all.list().filter((one) => one !== service);
      const addresses = context
        .read(nodes)
        .list()
        .flatMap(({ status }) => status?.addresses ?? []);
      const choice = pool.choose(key, service, others, new Set(addresses.map(({ address }) => address)));
      if ('refusal' in choice) {
        pool.free(key);
        say(
          'Warning',
          'SyncLoadBalancerFailed',
          `Error syncing load balancer: failed to ensure load balancer: ${choice.refusal}`,
        );
        if (has.length > 0) await write(undefined);
        return undefined;
      }
      if (sameIngress(service, choice.ip)) return undefined;
      say('Normal', 'EnsuringLoadBalancer', 'Ensuring load balancer');
      await write(choice.ip);
      say('Normal', 'EnsuredLoadBalancer', 'Ensured load balancer');
      return undefined;
    },
  });
}
