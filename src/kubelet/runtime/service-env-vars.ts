// The variables that tell a container of the services of its namespace. Pure (upstream: envvars.FromServices).
import type { Service } from '../../api/generated/types/core-v1.ts';
import { hostPort } from '../../base/ip.ts';
import type { Lister } from '../../client/cache/informer.ts';

export type ServiceLister = Pick<Lister<Service>, 'get' | 'list'>;

type EnvPair = readonly [name: string, value: string];

const variableName = (text: string): string => text.toUpperCase().replaceAll('-', '_');

function* linkVariables(service: Service, prefix: string): Iterable<EnvPair> {
  const ip = service.spec?.clusterIP ?? '';
  for (const [index, port] of (service.spec?.ports ?? []).entries()) {
    const protocol = port.protocol ?? 'TCP';
    const url = `${protocol.toLowerCase()}://${hostPort(ip, port.port)}`;
    const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
    if (index === 0) yield [`${prefix}_PORT`, url];
    yield [name, url];
    yield [`${name}_PROTO`, protocol.toLowerCase()];
    yield [`${name}_PORT`, String(port.port)];
    yield [`${name}_ADDR`, ip];
  }
}

const isNamed = ({ name }: { readonly name?: string | undefined }): boolean => (name ?? '') !== '';

/** How many `serviceEnvVars` makes: a Service has thousands of ports, of each of which five are made. */
export function serviceEnvCount(services: readonly Service[]): number {
  let count = 0;
  for (const { spec } of services) {
    const ports = spec?.ports ?? [];
    count += 2 + (ports.length > 0 ? 1 : 0) + 4 * ports.length + ports.filter(isNamed).length;
  }
  return count;
}

/** One after the other, so that who takes them can stop. */
export function* serviceEnvVars(services: readonly Service[]): Iterable<EnvPair> {
  for (const service of services) {
    const prefix = variableName(service.metadata.name);
    const ports = service.spec?.ports ?? [];
    yield [`${prefix}_SERVICE_HOST`, service.spec?.clusterIP ?? ''];
    yield [`${prefix}_SERVICE_PORT`, String(ports[0]?.port ?? '')];
    for (const port of ports)
      if (isNamed(port)) yield [`${prefix}_SERVICE_PORT_${variableName(port.name!)}`, String(port.port)];
    yield* linkVariables(service, prefix);
  }
}

const hasAddress = ({ spec }: Service): boolean => !['', 'None'].includes(spec?.clusterIP ?? '');

/** Services of the pod's namespace, and always the API server's; headless ones have no address to tell. */
export function servicesForEnv(
  services: ServiceLister,
  namespace: string,
  enableServiceLinks: boolean,
): Service[] {
  const own = enableServiceLinks ? services.list(namespace).filter(hasAddress) : [];
  const master = services.get('kubernetes', 'default');
  const hidden = own.some(({ metadata }) => metadata.name === 'kubernetes');
  return master && hasAddress(master) && !hidden ? [master, ...own] : own;
}
