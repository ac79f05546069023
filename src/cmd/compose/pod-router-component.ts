// Routes to pods on the API server's machine, as a part of the server process.
import { endpointslices, nodes, services } from '../../api/generated/resources.ts';
import { startPodRouter } from '../../network/pod-router.ts';
import { keepTables } from '../../os/kept-tables.ts';
import { ownNetworkHost } from '../../os/linux/network-host-linux.ts';
import type { ServerComponent } from './run-components.ts';

/** For the machine of a cluster made by `up`: it is connected to all nodes but is none. */
export function podRouterComponent(options: {
  readonly topology: string;
  /** The id that the cluster has on this machine. */
  readonly clusterName: string;
  readonly clusterCIDR: string;
  readonly serviceCIDR: string;
  /** Addresses of this network that Services of type LoadBalancer are given; undefined: by others, or none. */
  readonly loadBalancerRange?: string | undefined;
}): ServerComponent {
  return {
    name: 'pod-router',
    async start({ clock, informers, log, signal }) {
      const host = ownNetworkHost();
      const tables = keepTables({ packetFilter: host.packetFilter, clock, log });
      const router = startPodRouter({
        ...options,
        nodes: informers.informer(nodes),
        services: informers.informer(services),
        balancer:
          options.loadBalancerRange === undefined
            ? undefined
            : { range: options.loadBalancerRange, slices: informers.informer(endpointslices) },
        host,
        tables,
        clock,
        log,
      });
      const ended = Promise.withResolvers<void>();
      const stop = (): void => {
        tables
          .stop()
          .then(() => router.stop())
          .then(() => host.packetFilter.close())
          .then(ended.resolve, ended.reject);
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
      return { done: ended.promise };
    },
  };
}
