// Which address is behind a port of a Service: for whoever calls it from this server, which is not in the pod network's proxies.
import { endpointslices, nodes, services } from '../../api/generated/resources.ts';
import type { ServicePort } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { notFound, serviceUnavailable } from '../../apimachinery/errors.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import { assertProxyable, type MachineAddress } from './proxy.ts';

export interface ServiceEndpointsDeps {
  readonly live: LiveObjects;
  readonly pick: (below: number) => number;
  readonly isMachine: MachineAddress;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Of a slice: who claims to be there. */
interface Candidate extends Endpoint {
  readonly nodeName: string | undefined;
}

const endpointsOf = (slice: EndpointSlice, { name = '' }: ServicePort): Candidate[] => {
  const port = slice.ports?.find((one) => (one.name ?? '') === name)?.port;
  if (slice.addressType === 'FQDN' || port === undefined) return [];
  return (slice.endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses, nodeName }) => addresses.map((host) => ({ host, port, nodeName })));
};

/**
 * One of them that runs. The address of a simulated pod leads nowhere, or to whoever has it in the network outside: who
 * asked there would hear of a foreign certificate, or hand its credentials to a stranger. Throws StatusError.
 */
function choose(
  { live, pick }: Pick<ServiceEndpointsDeps, 'live' | 'pick'>,
  found: readonly Candidate[],
  service: string,
): Candidate {
  const runs = ({ nodeName = '' }: Candidate): boolean =>
    nodeName === '' || live.get(nodes, nodeName)?.metadata.labels?.[simulatedNodeLabel] !== 'true';
  if (found.length === 0) throw serviceUnavailable(`no endpoints available for service ${service}`);
  const first = found[pick(found.length)]!;
  if (runs(first)) return first;
  const running = found.filter(runs);
  if (running.length === 0)
    throw serviceUnavailable(
      `no endpoints that run for service ${service}: its pods are on simulated nodes, where nothing runs and nobody answers`,
    );
  return running[pick(running.length)]!;
}

/**
 * For webhooks and extension servers: an administrator names the Service, and its certificate tells whether it is the
 * right one, so that addresses of others than pods are fine. Those of the machine itself are not. Throws StatusError.
 */
export const serviceEndpoints =
  ({ live, pick, isMachine }: ServiceEndpointsDeps) =>
  (namespace: string, name: string, port: number): Endpoint => {
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
    const { host, port: reached } = choose({ live, pick }, found, JSON.stringify(name));
    assertProxyable(host, isMachine);
    return { host, port: reached };
  };
