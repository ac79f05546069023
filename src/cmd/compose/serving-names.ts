// The names and addresses that the API server's certificate has. Pure.
import { parseIp } from '../../base/ip.ts';
import { firstAddressOf } from '../../controlplane/control-plane.ts';
import type { ServerNames } from '../../controlplane/pki.ts';

const isIp = (text: string): boolean => parseIp(text) !== undefined;

/** `sans`: addresses where it is reached, and what else was asked for. */
export function servingNames({
  serviceCidr,
  clusterDomain,
  advertise,
  sans,
}: {
  readonly serviceCidr: string;
  readonly clusterDomain: string;
  /** Where nodes reach it. */
  readonly advertise: string;
  readonly sans: readonly string[];
}): Required<ServerNames> {
  return {
    needed: ['127.0.0.1', firstAddressOf(serviceCidr), advertise],
    dnsNames: [
      'localhost',
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      `kubernetes.default.svc.${clusterDomain}`,
      ...sans.filter((name) => !isIp(name)),
    ],
    ips: [...new Set(['127.0.0.1', firstAddressOf(serviceCidr), ...sans.filter(isIp)])],
  };
}
