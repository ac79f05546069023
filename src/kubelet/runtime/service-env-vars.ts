// The variables that tell a container of the services of its namespace. Pure (upstream: envvars.FromServices).
import type { Service } from '../../api/generated/types/core-v1.ts';

export type EnvPair = readonly [name: string, value: string];

const variableName = (text: string): string => text.toUpperCase().replaceAll('-', '_');
const hostPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;

function linkVariables(service: Service): EnvPair[] {
  const prefix = variableName(service.metadata.name);
  const ip = service.spec?.clusterIP ?? '';
  return (service.spec?.ports ?? []).flatMap((port, index) => {
    const protocol = port.protocol ?? 'TCP';
    const url = `${protocol.toLowerCase()}://${hostPort(ip, port.port)}`;
    const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
    const own: EnvPair[] = [
      [name, url],
      [`${name}_PROTO`, protocol.toLowerCase()],
      [`${name}_PORT`, String(port.port)],
      [`${name}_ADDR`, ip],
    ];
    return index === 0 ? [[`${prefix}_PORT`, url] as const, ...own] : own;
  });
}

export function serviceEnvVars(services: readonly Service[]): EnvPair[] {
  return services.flatMap((service) => {
    const prefix = variableName(service.metadata.name);
    const ports = service.spec?.ports ?? [];
    return [
      [`${prefix}_SERVICE_HOST`, service.spec?.clusterIP ?? ''] as const,
      [`${prefix}_SERVICE_PORT`, String(ports[0]?.port ?? '')] as const,
      ...ports
        .filter((p) => (p.name ?? '') !== '')
        .map((p) => [`${prefix}_SERVICE_PORT_${variableName(p.name!)}`, String(p.port)] as const),
      ...linkVariables(service),
    ];
  });
}

/** Services of the pod's namespace, and always the API server's; headless ones have no address to tell. */
export function servicesForEnv(
  all: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): Service[] {
  const chosen = new Map<string, Service>();
  for (const service of all) {
    const ip = service.spec?.clusterIP ?? '';
    if (ip === '' || ip === 'None') continue;
    const { name } = service.metadata;
    const isMaster = service.metadata.namespace === 'default' && name === 'kubernetes';
    if (isMaster && !chosen.has(name)) chosen.set(name, service);
    if (service.metadata.namespace === namespace && enableServiceLinks) chosen.set(name, service);
  }
  return [...chosen.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
