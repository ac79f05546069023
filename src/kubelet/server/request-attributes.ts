// Which right a request to the kubelet's server needs, as upstream's fine-grained authorization (KubeletFineGrainedAuthz).

/** What the path asks for, decoded: what is authorized is what is routed. */
export interface RequestPath {
  /** Decoded; the first one names the route. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Undefined when the path is not URL-encoded. */
export function requestPath(url: string): RequestPath | undefined {
  const at = url.indexOf('?');
  const [path, search] = at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
  try {
    return { parts: path.split('/').slice(1).map(decodeURIComponent), query: new URLSearchParams(search) };
  } catch {
    return undefined;
  }
}

export interface NodeAccess {
  readonly verb: string;
  /** One of them is enough. */
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const subresources: ReadonlyMap<string, readonly string[]> = new Map([
  ['stats', ['stats']],
  ['metrics', ['metrics']],
  ['logs', ['log']],
  ['checkpoint', ['checkpoint']],
  ['pods', ['pods', 'proxy']],
  ['runningpods', ['pods', 'proxy']],
  ['healthz', ['healthz', 'proxy']],
  ['configz', ['configz', 'proxy']],
]);

/** These run something in a pod, or connect to it, by whatever method they are asked for. */
const commands: readonly string[] = ['exec', 'attach', 'portForward', 'run', 'cri'];

/** A WebSocket begins with GET; whoever may only read must not run commands by it. */
export function accessOf(method: string, { parts }: RequestPath, upgrades: boolean): NodeAccess {
  const route = parts[0] ?? '';
  const verb =
    upgrades || commands.includes(route) ? 'create' : Object.hasOwn(verbs, method) ? verbs[method]! : '';
  return { verb, subresources: subresources.get(route) ?? ['proxy'] };
}
