// The options objects of connects (PodExecOptions …), which are in the query: what admission looks at, and may change.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest } from '../../apimachinery/errors.ts';
import { queryBoolean } from '../../apiserver/query.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';
import { pathOf } from '../../apiserver/request-info.ts';

type ConnectOptions = NonNullable<RestHandler['connectOptions']>;

const streams = ['stdin', 'stdout', 'stderr', 'tty'] as const;

const optionsOf = (kind: string, members: JsonObject): JsonObject => ({ kind, apiVersion: 'v1', ...members });

/** Members that are false or empty are left out, as Go leaves them out. */
export const remoteCommandOptions =
  (kind: string): ConnectOptions =>
  ({ query }) => {
    const members: JsonObject = {};
    for (const name of streams) if (queryBoolean(query, name) === true) members[name] = true;
    const container = query.get('container') ?? '';
    if (container !== '') members['container'] = container;
    const command = query.getAll('command');
    if (kind === 'PodExecOptions' && command.length > 0) members['command'] = command;
    return optionsOf(kind, members);
  };

function portOf(text: string): number {
  const quoted = JSON.stringify(text);
  const refused = (why: string): Error =>
    badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${quoted}: ${why}`);
  if (!/^\d+$/.test(text)) throw refused('invalid syntax');
  if (Number(text) > 65_535) throw refused('value out of range');
  return Number(text);
}

export const portForwardOptions: ConnectOptions = ({ query }) => {
  const ports = query.getAll('ports').flatMap((text) => text.split(',').map(portOf));
  return optionsOf('PodPortForwardOptions', ports.length > 0 ? { ports } : {});
};

/** The path behind `proxy`, decoded; none when the request ends there. */
export const proxyOptions =
  (kind: string): ConnectOptions =>
  ({ info, request }) => {
    const rest = info.parts.slice(2).join('/');
    const path = rest === '' ? '' : `/${rest}`;
    const whole = pathOf(request.url).endsWith('/') && !path.endsWith('/') ? `${path}/` : path;
    return optionsOf(kind, whole === '' ? {} : { path: whole });
  };
