// Which address is behind a port of a Service: for whoever calls it from this server, which is not in the pod network's proxies.
import { endpointslices, nodes, services } from '../../api/generated/resources.ts';
import type { ServicePort } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { notFound, serviceUnavailable } from '../../apimachinery/errors.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import { assertProxyable, type MachineAddress } from './proxy.ts';
import { type Candidate, runningEndpoint } from './running-endpoint.ts';

export interface ServiceEndpointsDeps {
  readonly live: LiveObjects;
  readonly pick: (below: number) => number;
  readonly isMachine: MachineAddress;
}

const endpointsOf = (slice: EndpointSlice, { name = '' }: ServicePort): Candidate[] => {
  const port = slice.ports?.find((one) => (one.name ?? '') === name)?.port;
  if (slice.addressType === 'FQDN' || port === undefined) return [];
  return (slice.endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses, nodeName = '' }) => addresses.map((host) => ({ host, port, nodeName })));
};

/**
 * For webhooks and extension servers: an administrator names the Service, and its certificate tells whether it is the
 * right one, so that addresses of others than pods are fine. Those of the machine itself are not. Throws StatusError.
 */
export const serviceEndpoints =
  ({ live, pick, isMachine }: ServiceEndpointsDeps) =>
  (namespace: string, name: string, port: number): { readonly host: string; readonly port: number } => {
    const service = live.get(services, name, namespace);
    if (service === undefined) throw notFound({ group: '', resource: 'service' }, name);
    const { type, externalName = '', ports = [] } = service.spec ?? {};
    if (type === 'ExternalName') return { host: externalName, port };
    const wanted = ports.find((one) => one.port === port);
    if (wanted === undefined)
      throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const found = live
      .list(endpointslices, { namespace })
      .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === name)
      .flatMap((slice) => endpointsOf(slice, wanted));
    const isSimulated = (node: string): boolean =>
      live.get(nodes, node)?.metadata.labels?.[simulatedNodeLabel] === 'true';
    const { host, port: reached } = runningEndpoint(found, name, pick, isSimulated);
    assertProxyable(host, isMachine);
    return { host, port: reached };
  };
