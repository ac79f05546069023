// Which kubelet serves a pod's container, and what is wrong with a request for one.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, notFound } from '../../apimachinery/errors.ts';
import { meta, objs, spec, str } from '../../apimachinery/json-access.ts';
import type { RestRequest } from '../../apiserver/registry/rest-storage.ts';
import type { BackendTarget } from '../../wire/backend.ts';

/** Answers how the kubelet of a node is reached: its address, and the API server's credentials for it. */
export type KubeletConnection = (node: JsonObject) => BackendTarget | Promise<BackendTarget>;

const pods = { group: '', resource: 'pods' };
const defaultContainer = 'kubectl.kubernetes.io/default-container';

export function podOf(request: RestRequest): JsonObject {
  const pod = request.store('', 'pods').find(request.namespace, request.name);
  if (!pod) throw notFound(pods, request.name);
  return pod;
}

const namesOf = (pod: JsonObject, list: string): string[] => objs(spec(pod)[list]).map((c) => str(c['name']));

/** The container that is meant: the one asked for, the only one, or the one that the pod names as its default. */
export function containerOf(pod: JsonObject, asked: string): string {
  const name = str(meta(pod)['name']);
  const containers = namesOf(pod, 'containers');
  const inits = namesOf(pod, 'initContainers');
  if (asked !== '') {
    if ([...containers, ...inits, ...namesOf(pod, 'ephemeralContainers')].includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}`);
  }
  if (containers.length === 1) return containers[0]!;
  const annotations = meta(pod)['annotations'] as JsonObject | undefined;
  const marked = str(annotations?.[defaultContainer]);
  if (containers.includes(marked)) return marked;
  if (containers.length === 0) throw badRequest(`a container name must be specified for pod ${name}`);
  const more = inits.length > 0 ? ` or one of the init containers: [${inits.join(' ')}]` : '';
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${more}`,
  );
}

export async function kubeletOf(
  request: RestRequest,
  nodeName: string,
  connection: KubeletConnection,
): Promise<BackendTarget> {
  const node = request.store('', 'nodes').find('', nodeName);
  if (!node) throw notFound({ group: '', resource: 'nodes' }, nodeName);
  return connection(node);
}

export function assignedNode(pod: JsonObject): string {
  const nodeName = str(spec(pod)['nodeName']);
  if (nodeName === '') throw badRequest(`pod ${str(meta(pod)['name'])} does not have a host assigned`);
  return nodeName;
}

/** `/exec/<namespace>/<pod>/<container>`; each part encoded. */
export const kubeletPath = (...parts: readonly string[]): string =>
  `/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
