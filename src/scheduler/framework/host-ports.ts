// Host ports that a pod takes on its node.
import type { Pod } from '../../api/generated/types/core-v1.ts';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const everywhere = new Set(['', '0.0.0.0', '::']);

export function hostPortsOf(pod: Pod): HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    (container) => container.restartPolicy === 'Always',
  );
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? [])
      .filter((port) => (port.hostPort ?? 0) > 0)
      .map((port) => ({ ip: port.hostIP ?? '', protocol: port.protocol ?? 'TCP', port: port.hostPort! })),
  );
}

export const portsConflict = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port &&
  a.protocol === b.protocol &&
  (a.ip === b.ip || everywhere.has(a.ip) || everywhere.has(b.ip));
