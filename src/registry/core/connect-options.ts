// The options objects of connects (PodExecOptions …), which are in the query: what admission looks at.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';
import { pathAfterProxy } from '../../apiserver/streaming/http-proxy.ts';

type ConnectOptions = NonNullable<RestHandler['connectOptions']>;

const streams = ['stdin', 'stdout', 'stderr', 'tty'] as const;

const optionsOf = (kind: string, members: JsonObject): JsonObject => ({ kind, apiVersion: 'v1', ...members });

/** Members that are false or empty are left out, as Go leaves them out. `shown`: streams that are there unless it is said otherwise. */
export const remoteCommandOptions =
  (kind: string, shown: readonly string[]): ConnectOptions =>
  ({ query }) => {
    const members: JsonObject = {};
    for (const name of streams) {
      const value = query.get(name);
      if (value === null ? shown.includes(name) : value !== 'false' && value !== '0') members[name] = true;
    }
    const container = query.get('container') ?? '';
    if (container !== '') members['container'] = container;
    const command = query.getAll('command');
    if (command.length > 0) members['command'] = command;
    return optionsOf(kind, members);
  };

export const portForwardOptions: ConnectOptions = ({ query }) => {
  const ports = query
    .getAll('ports')
    .flatMap((text) => text.split(','))
    .map(Number)
    .filter(Number.isInteger);
  return optionsOf('PodPortForwardOptions', ports.length > 0 ? { ports } : {});
};

export const proxyOptions =
  (kind: string): ConnectOptions =>
  ({ request }) =>
    optionsOf(kind, { path: pathAfterProxy(request.url).split('?', 1)[0]! });
