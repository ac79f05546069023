// nodes/proxy, pods/proxy and services/proxy: which address a name stands for, and what may not be reached.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, notFound, serviceUnavailable } from '../../apimachinery/errors.ts';
import { arr, meta, num, obj, objs, spec, status, str, strs } from '../../apimachinery/json-access.ts';
import type { ApiResponse } from '../../apiserver/http.ts';
import type { RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { pathAfterProxy, proxyRequest, redirectToRoot } from '../../apiserver/streaming/http-proxy.ts';
import { cidrContains, formatIp, parseCidr, parseIp } from '../../base/ip.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import type { BackendTarget } from '../../wire/backend.ts';
import { proxyOptions } from './connect-options.ts';
import { type KubeletConnection, kubeletOf } from './pod-location.ts';
import { type Candidate, nobodyAnswers, runningEndpoint } from './running-endpoint.ts';

interface Target {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`. */
function splitProxyName(text: string): Target {
  const parts = text.split(':');
  if (parts.length === 3 && (parts[0] === 'http' || parts[0] === 'https' || parts[0] === ''))
    return { scheme: parts[0] === 'https' ? 'https' : 'http', name: parts[1]!, port: parts[2]! };
  if (parts.length === 2) return { scheme: 'http', name: parts[0]!, port: parts[1]! };
  if (parts.length === 1) return { scheme: 'http', name: text, port: '' };
  throw badRequest(`invalid proxy request ${JSON.stringify(text)}`);
}

/**
 * Loopback, link-local, multicast, broadcast and `this network`: where the machine's own services listen. And IPv4 in the clothes
 * of IPv6: `::ffff:7f00:1` and `::7f00:1` are 127.0.0.1.
 */
const local = [
  ...['0.0.0.0/32', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  ...['::/96', '::ffff:0:0/96', 'fe80::/10', 'ff00::/8'],
].map((cidr) => parseCidr(cidr)!);

/**
 * True for an address, in its canonical form, of the machine that the API server runs on. Pods have others, and what listens there is not the
 * cluster's: a node that says so would lead users of its pods to it, past the rules that keep pods out.
 */
export type MachineAddress = (ip: string) => boolean;

/**
 * As upstream's IsProxyableIP: a global unicast address. Kubelets and users write these addresses, so that whatever
 * is no plain address - a name, `127.1`, an IPv4 address in the clothes of IPv6 - is refused.
 */
export function assertProxyable(ip: string, isMachine: MachineAddress): void {
  const value = parseIp(ip);
  const fine =
    value !== undefined && value.zone === undefined && !local.some((cidr) => cidrContains(cidr, value));
  if (!fine || isMachine(formatIp(value))) throw badRequest('address not allowed');
}

const backend = (scheme: 'http' | 'https', host: string, port: number): BackendTarget => ({
  host,
  port,
  ...(scheme === 'https' ? { tls: { verify: false } } : {}),
});

/** What follows `proxy`, as it was sent; where a webhook leads it elsewhere, as that says. */
function pathFor({ context, options }: RestRequest): string {
  const sent = pathAfterProxy(context.request.url);
  const path = str(options['path']);
  if (path === str(proxyOptions('')(context)['path'])) return sent;
  const at = sent.indexOf('?');
  const elsewhere = path.split('/').map(encodeURIComponent).join('/');
  return `${elsewhere.startsWith('/') ? '' : '/'}${elsewhere}${at < 0 ? '' : sent.slice(at)}`;
}

function forward(asked: RestRequest, target: BackendTarget): Promise<ApiResponse> {
  const { request } = asked.context;
  const redirect = request.upgrade ? undefined : redirectToRoot(request);
  return redirect ? Promise.resolve(redirect) : proxyRequest(request, target, pathFor(asked));
}

export const createNodeProxy = (connection: KubeletConnection): RestHandler => ({
  connectOptions: proxyOptions('NodeProxyOptions'),
  async connect(request) {
    const { name } = splitProxyName(request.name);
    return forward(request, await kubeletOf(request, name, connection));
  },
});

const nodeOf = (pod: JsonObject): string => str(spec(pod)['nodeName']);

/** Whether the pods of a node only pretend. */
const simulates =
  (request: RestRequest) =>
  (nodeName: string): boolean => {
    const node = nodeName === '' ? undefined : request.store('', 'nodes').find('', nodeName);
    return node !== undefined && obj(meta(node)['labels'])[simulatedNodeLabel] === 'true';
  };

function firstPort(pod: JsonObject): number {
  for (const container of objs(spec(pod)['containers']))
    for (const port of objs(container['ports'])) return num(port['containerPort']);
  return 80;
}

export const createPodProxy = (isMachine: MachineAddress): RestHandler => ({
  connectOptions: proxyOptions('PodProxyOptions'),
  async connect(request) {
    const { scheme, name, port } = splitProxyName(request.name);
    const pod = request.store('', 'pods').find(request.namespace, name);
    if (!pod) throw notFound({ group: '', resource: 'pods' }, name);
    const ip = str(status(pod)['podIP']) || str(objs(status(pod)['podIPs'])[0]?.['ip']);
    assertProxyable(ip, isMachine);
    const number = port === '' ? firstPort(pod) : Number(port);
    if (!Number.isInteger(number) || number < 1 || number > 65_535)
      throw badRequest(`invalid port ${JSON.stringify(port)}`);
    if (simulates(request)(nodeOf(pod)))
      throw serviceUnavailable(`pod ${JSON.stringify(name)} is on a simulated node, ${nobodyAnswers}`);
    return forward(request, backend(scheme, ip, number));
  },
});

/** As upstream's isValidAddress: whoever writes slices leads to pods of the namespace, not to anything else. */
function podAt(request: RestRequest, endpoint: JsonObject, ip: string): JsonObject | undefined {
  const target = obj(endpoint['targetRef']);
  if (str(target['name']) === '' || str(target['namespace']) !== request.namespace) return undefined;
  const pod = request.store('', 'pods').find(request.namespace, str(target['name']));
  if (!pod) return undefined;
  const { podIP, podIPs } = status(pod);
  return podIP === ip || objs(podIPs).some((one) => one['ip'] === ip) ? pod : undefined;
}

/** A ready endpoint of the service for the port that is named, by number or by name. */
function endpointOf(
  request: RestRequest,
  name: string,
  port: string,
  pick: (below: number) => number,
): Candidate {
  const service = request.store('', 'services').find(request.namespace, name);
  if (!service) throw notFound({ group: '', resource: 'services' }, name);
  const ports = objs(spec(service)['ports']);
  const wanted =
    port === '' && ports.length === 1
      ? ports[0]
      : ports.find((p) => str(p['name']) === port || String(num(p['port'])) === port);
  if (!wanted)
    throw serviceUnavailable(
      `no service port ${JSON.stringify(port)} found for service ${JSON.stringify(name)}`,
    );
  const found: Candidate[] = [];
  const slices = request.store('discovery.k8s.io', 'endpointslices');
  for (const item of slices.cache.list({ namespace: request.namespace, limit: 0 }).items) {
    if (item.index.labels['kubernetes.io/service-name'] !== name) continue;
    const slice = slices.served(item.value);
    if (slice['addressType'] === 'FQDN') continue;
    const target = objs(slice['ports']).find((p) => str(p['name']) === str(wanted['name']));
    if (!target) continue;
    for (const endpoint of objs(slice['endpoints']))
      if (obj(endpoint['conditions'])['ready'] !== false)
        for (const host of strs(arr(endpoint['addresses']))) {
          const pod = podAt(request, endpoint, host);
          if (pod) found.push({ host, port: num(target['port']), nodeName: nodeOf(pod) });
        }
  }
  return runningEndpoint(found, name, pick, simulates(request));
}

export const createServiceProxy = (
  pick: (below: number) => number,
  isMachine: MachineAddress,
): RestHandler => ({
  connectOptions: proxyOptions('ServiceProxyOptions'),
  async connect(request) {
    const { scheme, name, port } = splitProxyName(request.name);
    const endpoint = endpointOf(request, name, port, pick);
    assertProxyable(endpoint.host, isMachine);
    return forward(request, backend(scheme, endpoint.host, endpoint.port));
  },
});
