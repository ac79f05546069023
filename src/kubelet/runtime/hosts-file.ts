// The hosts file of a pod and its names. Pure.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { podNamespace } from '../pod-format.ts';

const head = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

/** A hostname has at most 63 characters and no dash or dot at its end. */
const truncated = (name: string): string => name.slice(0, 63).replace(/(?<![-.])[-.]+$/, '');

export interface PodHostname {
  readonly hostname: string;
  /** `sub.ns.svc.cluster.local`, '' without a subdomain. */
  readonly domain: string;
}

export function podHostname(pod: Pod, clusterDomain: string): PodHostname {
  const override = pod.spec.hostnameOverride;
  if (override !== undefined) return { hostname: override, domain: '' };
  const hostname = truncated(pod.spec.hostname || (pod.metadata.name ?? ''));
  const sub = pod.spec.subdomain ?? '';
  const domain = sub === '' ? '' : `${sub}.${podNamespace(pod)}.svc.${clusterDomain}`;
  if (pod.spec.setHostnameAsFQDN && domain !== '') {
    const whole = `${hostname}.${domain}`;
    if (whole.length > 64) {
      throw new Error(
        `failed to construct FQDN from pod hostname and cluster domain, FQDN ${whole} is too long (64 characters is the max, ${whole.length} characters requested)`,
      );
    }
    return { hostname: whole, domain: '' };
  }
  return { hostname, domain };
}

/** One line an address: names can't add lines of their own. */
const clean = (text: string): string => text.replace(/[\s\0]+/g, '');

function aliases(pod: Pod): string[] {
  const list = pod.spec.hostAliases ?? [];
  if (list.length === 0) return [];
  return [
    '',
    '# Entries added by HostAliases.',
    ...list.map(({ ip, hostnames }) => [ip, ...(hostnames ?? [])].map(clean).join('\t')),
  ];
}

export function hostsFile(
  pod: Pod,
  input: {
    readonly podIPs: readonly string[];
    readonly clusterDomain: string;
    readonly nodeHosts?: string | undefined;
  },
): string {
  if (input.nodeHosts !== undefined) {
    const own = aliases(pod);
    return `# Kubernetes-managed hosts file (host network).\n${input.nodeHosts}${own.length > 0 ? `${own.join('\n')}\n` : ''}`;
  }
  const { hostname, domain } = podHostname(pod, input.clusterDomain);
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [
    '# Kubernetes-managed hosts file.',
    ...head,
    ...input.podIPs.map((ip) => `${ip}\t${names}`),
    ...aliases(pod),
  ];
  return `${lines.join('\n')}\n`;
}
