// A node's credentials while its agent runs: taken up from their files when these change, renewed by requests before they end.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import { clientMetrics } from '../../client/client-metrics.ts';
import { createClient } from '../../client/create-client.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { httpTransport } from '../../client/transport-http.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { startCertificateManager } from '../../kubelet/certificates/certificate-manager.ts';
import type { Kubelet } from '../../kubelet/kubelet.ts';
import { certificateStore } from './certificate-store.ts';

export interface FileClient {
  readonly client: Client;
  /** `https://host:port`. */
  readonly server: string;
  /** Reads the kubeconfig and what it names again. */
  reload(): Promise<void>;
  /** PEM of its certificate; undefined when it has none. */
  certificate(): string | undefined;
  close(): Promise<void>;
}

/** A client whose certificates follow their files. */
export async function clientFrom(
  kubeconfig: string,
  userAgent: string,
  clock: Clock,
  metrics: MetricsRegistry,
): Promise<FileClient> {
  const load = async () => {
    try {
      return (await loadKubeconfig(kubeconfig, (path) => readFile(path))).transport;
    } catch (error) {
      // One that is not there, or not ours to read, says so itself.
      if (error instanceof Error && error.cause instanceof Error && 'code' in error.cause) throw error;
      const text = error instanceof Error ? error.message : String(error);
      const message = text.includes(kubeconfig) ? text : `${kubeconfig}: ${text}`;
      throw Object.assign(new Error(message), { next: 'porthole up writes it anew' });
    }
  };
  const same = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
    a === b || (a !== undefined && b !== undefined && a.equals(b));
  let tls = await load();
  const transport = httpTransport(clock, tls);
  return {
    client: createClient(transport, {
      userAgent,
      metrics: clientMetrics(metrics, clock, new URL(tls.server).host),
    }),
    certificate: () => tls.cert?.toString(),
    server: tls.server,
    reload: async () => {
      const now = await load();
      if (same(now.ca, tls.ca) && same(now.cert, tls.cert) && same(now.key, tls.key)) return;
      tls = now;
      transport.setTls(now);
    },
    close: () => transport.close(),
  };
}

/** Certificate and key of the kubelet's server, and who may call it. */
export function servingTls(dataDir: string): { cert: string; key: string; clientCa: string } {
  const pem = readFileSync(join(dataDir, 'pki/kubelet-server-current.pem'), 'utf8');
  return { cert: pem, key: pem, clientCa: readFileSync(join(dataDir, 'ca.crt'), 'utf8') };
}

export interface NodeRotationOptions {
  readonly dataDir: string;
  readonly nodeName: string;
  readonly nodeIp: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kubelet: Kubelet;
  /** The node's own client: it asks for the node's certificates. */
  readonly nodeClient: FileClient;
  /** All clients whose files are looked at. */
  readonly clients: readonly FileClient[];
}

/** How often files are looked at that others may have changed. */
const lookMs = 60_000;

export function rotateNodeCredentials(options: NodeRotationOptions): { stop(): Promise<void> } {
  const { clock, log, dataDir, kubelet, nodeName } = options;
  let serving = JSON.stringify(servingTls(dataDir));
  const takeUp = async (): Promise<void> => {
    for (const client of options.clients) await client.reload();
    const now = servingTls(dataDir);
    if (JSON.stringify(now) === serving) return;
    serving = JSON.stringify(now);
    kubelet.setServerTls(now);
  };
  // What is in use stays in use until something better can be read.
  const look = (): Promise<void> =>
    takeUp().catch((error: unknown) => log.error({ error }, 'credentials were not taken up'));
  const pki = join(dataDir, 'pki');
  const common = { ...options, client: options.nodeClient.client, renewed: () => void look() };
  const who = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
  const managers = [
    startCertificateManager({
      ...common,
      store: certificateStore(pki, 'kubelet-client', clock),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      request: who,
    }),
    startCertificateManager({
      ...common,
      store: certificateStore(pki, 'kubelet-server', clock),
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
      request: { ...who, dnsNames: [nodeName], ips: [options.nodeIp] },
    }),
  ];
  const ended = new AbortController();
  const watching = (async () => {
    for (;;) {
      await clock.sleep(lookMs, ended.signal);
      await look();
    }
  })().catch(() => undefined);
  return {
    stop: async () => {
      ended.abort(new Error('the agent ends'));
      await Promise.all([watching, ...managers.map((manager) => manager.stop())]);
    },
  };
}
