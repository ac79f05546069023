// A node agent as one process: the kubelet over the runtime that its options name.
import { readFileSync } from 'node:fs';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { showCertificateTtl } from '../../kubelet/certificates/certificate-ttl.ts';
import { defaultEvictionHard, parseThresholds } from '../../kubelet/eviction/thresholds.ts';
import { startKubelet } from '../../kubelet/kubelet.ts';
import { parseReservation, sumOfReservations } from '../../kubelet/resources/node-reservation.ts';
import { parseResolvConf } from '../../kubelet/runtime/dns-config.ts';
import { nodeLayout } from '../cluster/node-layout.ts';
import { clientFrom, rotateNodeCredentials, servingTls } from './node-credentials.ts';
import type { AgentOptions, AgentSurroundings } from './node-runtime-driver.ts';
import { nodeRuntimes } from './node-runtimes.ts';

export interface RunningAgent {
  /** Containers go on running. */
  stop(): Promise<void>;
}

/** Resolves once the node is being registered and its pods are watched. A start that fails closes what it has opened. */
export async function startAgent(
  options: AgentOptions,
  surroundings: AgentSurroundings,
): Promise<RunningAgent> {
  const opened = new AsyncDisposableStack();
  try {
    await openAgent(options, surroundings, opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
  return { stop: () => opened.disposeAsync() };
}

async function openAgent(
  options: AgentOptions,
  { log, metrics }: AgentSurroundings,
  opened: AsyncDisposableStack,
): Promise<void> {
  const layout = nodeLayout(options.dataDir);
  const driver = nodeRuntimes[options.runtime];
  driver.forgetLiveness(layout);
  const nodeClient = await clientFrom(options.kubeconfig, 'porthole-kubelet', systemClock, metrics);
  showCertificateTtl(metrics, systemClock, 'client', nodeClient.certificate);
  opened.defer(() => nodeClient.close());
  const { client } = nodeClient;
  const runtime = await driver.open({ options, layout, client, log, metrics, opened });
  const { memoryFloor } = runtime.kubelet.nodeOs;
  const informers = createInformerFactory({
    client,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    name: 'porthole-kubelet',
  });
  opened.defer(() => informers.stop());
  const kubelet = await startKubelet({
    ...runtime.kubelet,
    client,
    informers,
    clock: systemClock,
    random: systemRandom,
    log,
    nodeName: options.nodeName,
    nodeIPs: [options.nodeIp],
    dns: {
      servers: [options.clusterDns],
      domain: options.clusterDomain,
      host: parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8')),
    },
    reserved: sumOfReservations(
      parseReservation(options.kubeReserved),
      parseReservation(options.systemReserved),
    ),
    thresholds: parseThresholds(options.evictionHard ?? defaultEvictionHard(memoryFloor)),
    podPidsLimit: options.podMaxPids,
    version: version.gitVersion,
    metrics,
    server: {
      address: options.nodeIp,
      port: options.port,
      tls: servingTls(options.dataDir),
    },
  });
  opened.defer(() => kubelet.stop());
  const rotation = rotateNodeCredentials({
    dataDir: options.dataDir,
    nodeName: options.nodeName,
    nodeIp: options.nodeIp,
    clock: systemClock,
    random: systemRandom,
    log,
    kubelet,
    nodeClient,
    clients: [nodeClient, ...runtime.clients],
  });
  opened.defer(() => rotation.stop());
  opened.defer(await driver.answerLiveness(layout, kubelet.port));
  log.info({ port: kubelet.port }, 'agent runs');
}
