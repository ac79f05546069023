// Which numbers of the machine's ports a Service asks for: pure. One number may serve several protocols of a port.
import type { Service } from '../../api/generated/types/core-v1.ts';

export const wantsNodePorts = (service: Service): boolean =>
  service.spec?.type === 'NodePort' ||
  (service.spec?.type === 'LoadBalancer' && service.spec.allocateLoadBalancerNodePorts !== false);

export const wantsHealthCheckPort = (service: Service): boolean =>
  service.spec?.type === 'LoadBalancer' && service.spec.externalTrafficPolicy === 'Local';

/** All that a Service holds, each once. */
export const nodePortsOf = (service: Service | undefined): number[] => [
  ...new Set(
    [
      ...(service?.spec?.ports ?? []).map((port) => port.nodePort ?? 0),
      service?.spec?.healthCheckNodePort ?? 0,
    ].filter((port) => port > 0),
  ),
];

export const healthCheckField = 'spec.healthCheckNodePort';

export interface PortWish {
  /** Undefined: any that is free. */
  readonly asked: number | undefined;
  /** Where the number is said first. */
  readonly field: string;
  /** Writes the number into the Service, wherever it belongs. */
  give(number: number): void;
}

/** A place for a number: that of a port, or the health check's. */
interface Place {
  readonly field: string;
  readonly number: number;
  /** Places of one key share a number: the protocols of one port. */
  readonly key: string;
  give(number: number): void;
}

function placesOf({ spec }: Service): Place[] {
  return (spec?.ports ?? []).map((port, i) => ({
    field: `spec.ports[${i}].nodePort`,
    number: port.nodePort ?? 0,
    key: `port ${port.port}`,
    give: (number) => {
      port.nodePort = number;
    },
  }));
}

function healthCheckPlace({ spec = {} }: Service): Place {
  return {
    field: healthCheckField,
    number: spec.healthCheckNodePort ?? 0,
    key: 'health check',
    give: (number) => {
      spec.healthCheckNodePort = number;
    },
  };
}

/** What is to be taken so that the Service has what it asks for; what `old` holds is its already. */
export function portWishes(service: Service, old: Service | undefined): PortWish[] {
  const places = placesOf(service);
  const open = wantsNodePorts(service) ? places.filter(({ number }) => number === 0) : [];
  const said = places.filter(({ number }) => number > 0);
  if (wantsHealthCheckPort(service)) {
    const place = healthCheckPlace(service);
    (place.number > 0 ? said : open).push(place);
  }
  const wishes = new Map<number | string, PortWish>();
  const held = nodePortsOf(old);
  for (const { field, number } of said)
    if (!held.includes(number) && !wishes.has(number))
      wishes.set(number, { field, asked: number, give: () => {} });
  for (const [key, sharing] of Map.groupBy(open, (place) => place.key)) {
    const give = (number: number): void => {
      for (const place of sharing) place.give(number);
    };
    const twin = said.find((place) => place.key === key);
    if (twin !== undefined) give(twin.number);
    else wishes.set(key, { field: sharing[0]!.field, asked: undefined, give });
  }
  return [...wishes.values()];
}
