// Cluster DNS on each node: the agent answers on the Service's own address, also while the server is away.
import { endpointslices } from '../../api/generated/resources.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { KeptTables } from '../../os/kept-tables.ts';
import type { NetworkHost } from '../../os/network-host.ts';
import { type DnsListenerOptions, type DnsServerAddress, listenDns } from '../../wire/dns-sockets.ts';
import type { ClusterView } from './dns-records.ts';
import { createDnsHandler, type DnsOptions } from './dns-server.ts';
import { kubeDnsService } from './dns-service.ts';
import { type DnsLanes, dnsRules, dnsTable, lanePorts, noDnsRules } from './dns-table.ts';
import { type KeptRecordsOptions, keepRecords } from './kept-records.ts';

export interface NodeDnsOptions extends Omit<DnsOptions, 'address' | 'port' | 'upstreams' | 'lastKnown'> {
  readonly informers: InformerFactory;
  /** Of the node's own namespace. */
  readonly host: Pick<NetworkHost, 'links' | 'packetFilter'>;
  readonly tables: KeptTables;
  /** Of the Service kube-dns. */
  readonly clusterIP: string;
  /** The machine's resolvers. */
  readonly upstreams: readonly DnsServerAddress[];
  readonly metrics: Pick<MetricsRegistry, 'counter'>;
  /** Where what is known is kept, for the time after a restart without the server. */
  readonly records: { readonly file: string; readonly files: KeptRecordsOptions['files'] };
}

const retryMs = 5_000;

/** The server's own DNS: it knows a resolver that listens on the machine's loopback, which a node does not reach. */
function lastResort(informers: InformerFactory, clusterIP: string): () => DnsServerAddress[] {
  const slices = informers.informer(endpointslices);
  return () => {
    const slice = slices.lister.get(kubeDnsService.name, kubeDnsService.namespace);
    const port = slice?.ports?.find((one) => one.protocol === 'UDP')?.port;
    if (port === undefined) return [];
    return (slice?.endpoints ?? [])
      .flatMap((endpoint) => endpoint.addresses)
      .filter((address) => address !== clusterIP)
      .map((address) => ({ address, port }));
  };
}

const isLoopback = ({ address }: DnsServerAddress): boolean =>
  address.startsWith('127.') || address === '::1';

/** Names as CoreDNS'. */
function counted(
  metrics: NodeDnsOptions['metrics'],
  answer: DnsListenerOptions['handle'],
): DnsListenerOptions['handle'] {
  const requests = metrics.counter('coredns_dns_requests_total', 'Counter of DNS requests made.', ['proto']);
  const responses = metrics.counter('coredns_dns_responses_total', 'Counter of response status codes.', [
    'rcode',
  ]);
  return async (packet, transport, source) => {
    requests.inc({ proto: transport });
    const reply = await answer(packet, transport, source);
    if (reply !== undefined) responses.inc({ rcode: codes[reply.readUInt16BE(2) & 15] ?? 'other' });
    return reply;
  };
}
const codes: readonly string[] = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED'];

export interface NodeDns {
  /** Resolves when it answers. */
  ready(): Promise<void>;
  /** Pods ask the Service's endpoint again. */
  stop(): Promise<void>;
}

/**
 * Of `lo`, which comes first: routes to pods name no source, and with scope global the kernel took it for all that the node itself
 * sends to pods.
 */
const addressOf = (clusterIP: string) => ({ name: 'lo', address: `${clusterIP}/32`, scope: 'host' }) as const;

/** The sockets, and the rules that lead to them. */
async function openLanes(
  { host, clusterIP, random }: NodeDnsOptions,
  handle: DnsListenerOptions['handle'],
): Promise<{ rules: string; close(): Promise<void> }> {
  const listener = await listenDns({ address: clusterIP, port: 53, lanes: lanePorts, handle });
  const lanes: DnsLanes = { ports: listener.lanes, seed: 1 + random.uint(2 ** 32 - 1) };
  let rules = dnsRules(clusterIP, lanes);
  try {
    // A kernel without hashes has one socket for all.
    await host.packetFilter.apply(rules).catch(() => {
      rules = dnsRules(clusterIP, { ...lanes, ports: [] });
      return host.packetFilter.apply(rules);
    });
  } catch (error) {
    await listener.close();
    throw error;
  }
  return { rules, close: () => listener.close() };
}

/** Returns at once. What can't be had now (the port, the address) is tried again; until then the Service answers. */
export function startNodeDns(options: NodeDnsOptions): NodeDns {
  const { host, clusterIP, clock, log } = options;
  const stopped = new AbortController();
  const address = addressOf(clusterIP);
  const reachable = options.upstreams.filter((upstream) => !isLoopback(upstream));
  const fallback = lastResort(options.informers, clusterIP);
  // Before the informers start: they add indexes and handlers.
  const kept = keepRecords({ ...options, ...options.records });
  let forgetTable = (): void => undefined;
  let lastKnown: ClusterView | undefined;
  const handle = counted(
    options.metrics,
    createDnsHandler({
      ...options,
      lastKnown: () => lastKnown,
      upstreams: () => [...reachable, ...fallback()],
    }),
  );

  async function open(): Promise<() => Promise<void>> {
    await host.links.apply([
      { do: 'setLink', name: 'lo', up: true },
      { do: 'replaceAddress', ...address },
    ]);
    const { rules, close } = await openLanes(options, handle);
    forgetTable = options.tables.keep({
      written: () => [dnsTable],
      writeAnew: () => host.packetFilter.apply(rules),
    });
    return close;
  }

  async function run(): Promise<(() => Promise<void>) | undefined> {
    lastKnown = await kept.read();
    while (!stopped.signal.aborted) {
      try {
        return await open();
      } catch (error) {
        log.warn({ error, address: clusterIP }, 'this node has no DNS of its own yet; the Service answers');
      }
      await clock.sleep(retryMs, stopped.signal).catch(() => undefined);
    }
    return undefined;
  }

  const running = run();
  return {
    ready: async () => {
      await running;
    },
    stop: async () => {
      stopped.abort();
      const close = await running;
      forgetTable();
      try {
        await host.packetFilter.apply(noDnsRules).catch(() => undefined);
        await host.links.apply([{ do: 'deleteAddress', ...address }], { keepGoing: 'silently' });
      } finally {
        await close?.();
        await kept.stop();
      }
    },
  };
}
