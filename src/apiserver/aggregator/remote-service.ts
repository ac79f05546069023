// The servers that APIServices name: which of them answers for a group and version.
import type { APIService } from '../../api/generated/types/apiregistration-v1.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { isObject, nameOf, num, objs, spec, status, str } from '../../apimachinery/json-access.ts';

export interface RemoteService {
  /** Of the APIService. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number };
  /** PEM in base64; '' when none vouches for it. */
  readonly caBundle: string;
  readonly insecure: boolean;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly available: boolean;
}

const defaultPort = 443;

export const groupVersionOf = (group: string, version: string): string => `${group}/${version}`;

/** Read member by member: what is stored may be older than the rules of its kind, or damaged. */
function remoteOf(apiService: JsonObject): RemoteService | undefined {
  const { group, version, service, caBundle, insecureSkipTLSVerify, ...rest } = spec(apiService);
  if (!isObject(service)) return undefined;
  const port = num(service['port']);
  return {
    name: nameOf(apiService),
    group: str(group),
    version: str(version),
    service: {
      namespace: str(service['namespace']),
      name: str(service['name']),
      port: port > 0 && port < 65_536 ? port : defaultPort,
    },
    caBundle: str(caBundle),
    insecure: insecureSkipTLSVerify === true,
    groupPriority: num(rest['groupPriorityMinimum']),
    versionPriority: num(rest['versionPriority']),
    available: availableCondition(apiService)?.['status'] === 'True',
  };
}

/** Whether the server of an APIService can be used, as its status says. */
export const availableCondition = (apiService: JsonObject): JsonObject | undefined =>
  objs(status(apiService)['conditions']).find(({ type }) => type === 'Available');

/** By group and version. What is built in is never elsewhere, whatever an APIService says. */
export function remoteServices(
  apiServices: readonly APIService[],
  isBuiltIn: (group: string, version: string) => boolean,
): Map<string, RemoteService> {
  const remote = new Map<string, RemoteService>();
  for (const apiService of apiServices) {
    const one = remoteOf(apiService as unknown as JsonObject);
    if (one !== undefined && !isBuiltIn(one.group, one.version))
      remote.set(groupVersionOf(one.group, one.version), one);
  }
  return remote;
}

/** APIServices that are the same but for their names and priorities are one server. */
export const serverKeyOf = ({ service, caBundle, insecure }: RemoteService): string =>
  JSON.stringify([service.namespace, service.name, service.port, caBundle, insecure]);

/** Whether they are asked at the same place, whoever vouches for who answers there. */
export const isSamePlace = ({ service: a }: RemoteService, { service: b }: RemoteService): boolean =>
  a.namespace === b.namespace && a.name === b.name && a.port === b.port;
