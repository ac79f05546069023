// The name resolution of a pod, by dnsPolicy and dnsConfig. Pure (upstream: network/dns).
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { podNamespace } from '../pod-format.ts';

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface ClusterDns {
  readonly servers: readonly string[];
  readonly domain: string;
  /** The node's own. */
  readonly host: ResolvConf;
}

const maxServers = 3;
const maxSearches = 32;

export function parseResolvConf(text: string): ResolvConf {
  let searches: string[] = [];
  const servers: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const words = line.trim().split(/\s+/);
    if (words[0] === 'nameserver' && words[1]) servers.push(words[1]);
    // The last line of its kind counts; a trailing dot is dropped, a lone one kept.
    if (words[0] === 'search') searches = words.slice(1).map((w) => (w === '.' ? w : w.replace(/\.$/, '')));
    if (words[0] === 'options') options = words.slice(1);
  }
  return { servers, searches, options };
}

const unique = (list: readonly string[]): string[] => [...new Set(list)];

function base(pod: Pod, dns: ClusterDns, onHost: boolean): ResolvConf {
  const { domain } = dns;
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  if (policy === 'Default' || (policy === 'ClusterFirst' && onHost) || dns.servers.length === 0)
    return dns.host;
  const own = domain === '' ? [] : [`${podNamespace(pod)}.svc.${domain}`, `svc.${domain}`, domain];
  return { servers: dns.servers, searches: unique([...own, ...dns.host.searches]), options: ['ndots:5'] };
}

function mergeOptions(
  existing: readonly string[],
  extra: readonly { readonly name?: string | undefined; readonly value?: string | undefined }[],
): string[] {
  const merged = new Map(existing.map((o) => [o.split(':')[0]!, o]));
  for (const { name = '', value } of extra) {
    if (name !== '') merged.set(name, value === undefined ? name : `${name}:${value}`);
  }
  return [...merged.values()];
}

/** `onHost`: the pod lives in its node's network. */
export function podDns(pod: Pod, dns: ClusterDns, onHost: boolean): ResolvConf {
  const start = base(pod, dns, onHost);
  const extra = pod.spec.dnsConfig;
  return {
    servers: unique([...start.servers, ...(extra?.nameservers ?? [])]).slice(0, maxServers),
    searches: unique([...start.searches, ...(extra?.searches ?? [])]).slice(0, maxSearches),
    options: mergeOptions(start.options, extra?.options ?? []),
  };
}
