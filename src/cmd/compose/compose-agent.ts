// A node agent as one process: containerd beside it, the kubelet, and the node's network.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { exitCodeFile } from '../../component-helpers/emulated-windows.ts';
import { forgetExitCode, readExitCode } from '../../emulation/wine/exit-code.ts';
import { installWindowsHandler } from '../../emulation/wine/windows-handler.ts';
import { imageVolumesDir } from '../../kubelet/containerd/containerd-config.ts';
import { withRegistryAdvice } from '../../kubelet/containerd/registry-advice.ts';
import { defaultEvictionHard, parseThresholds } from '../../kubelet/eviction/thresholds.ts';
import { type KubeletOptions, startKubelet } from '../../kubelet/kubelet.ts';
import { parseReservation, sumOfReservations } from '../../kubelet/resources/node-reservation.ts';
import { parseResolvConf } from '../../kubelet/runtime/dns-config.ts';
import type { Host } from '../../os/host.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { type Cri, createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient } from '../../wire/grpc-client.ts';
import { kubeletPortFile, type NodeLayout, nodeLayout } from '../cluster/node-layout.ts';
import { buildBeneath, buildCniClient, nativeDir } from '../cluster/prepare-machine.ts';
import { entryFile } from '../setup/package-root.ts';
import { answerLiveness } from '../supervisor/answer-liveness.ts';
import { startNodeNetwork } from './compose-node-network.ts';
import { startNodeContainerd } from './node-containerd.ts';
import { clientFrom, type FileClient, rotateNodeCredentials, servingTls } from './node-credentials.ts';
import { nodeOsOf } from './node-os.ts';
import { simulatedRuntime } from './simulated-node.ts';

/** The flags of `porthole agent`. */
export interface AgentOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly nodeIp: string;
  /** Its next hop to everywhere else. Undefined: the machine's own affair. */
  readonly nodeGateway?: string;
  readonly dataDir: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild: number;
  readonly windowsTaint: boolean;
  readonly runtime: 'containerd' | 'simulated';
  readonly topology: string;
  readonly clusterCidr: string;
  readonly serviceClusterIpRange: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly podMaxPids: number;
  /** `cpu=100m,memory=256Mi,pid=1000`. */
  readonly kubeReserved: string;
  readonly systemReserved: string;
  /** Of folders named after registries, with hosts.toml or certificates in them. */
  readonly registryConfig: string;
  /** `nodefs.available<10%,memory.available<100Mi`; undefined: upstream's. */
  readonly evictionHard?: string | undefined;
  readonly port: number;
  readonly cacheDir: string;
  readonly verbose: boolean;
}

export interface RunningAgent {
  /** Containers go on running. */
  stop(): Promise<void>;
}

interface NodeRuntime {
  readonly kubelet: Pick<
    KubeletOptions,
    'cri' | 'nodeOs' | 'contentRoot' | 'cgroupRoot' | 'simulated' | 'fullExitCode' | 'keptOf' | 'nodeProblems'
  >;
  /** Its own clients of the API server. */
  readonly clients: readonly FileClient[];
}

interface AgentSurroundings {
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

/** What runs the containers of an emulated Windows node. */
const windowsHandler = (
  options: AgentOptions,
  layout: NodeLayout,
): ReturnType<typeof installWindowsHandler> =>
  installWindowsHandler({
    processes: linuxProcesses,
    cacheDir: options.cacheDir,
    build: options.windowsBuild,
    stateDir: layout.handler,
    nativeDir: nativeDir(),
    node: process.execPath,
    handlerMain: entryFile('wine-handler', 'src/emulation/wine/handler-main.ts'),
  });

/** Addresses and routes of pods, Services and DNS. */
const nodeNetwork = async (
  options: AgentOptions,
  layout: NodeLayout,
  { client, server }: FileClient,
  { log, metrics }: AgentSurroundings,
): ReturnType<typeof startNodeNetwork> =>
  startNodeNetwork({
    client,
    nodeName: options.nodeName,
    os: options.os,
    uplink: {
      address: options.nodeIp,
      ...(options.nodeGateway === undefined ? {} : { gateway: options.nodeGateway }),
    },
    topology: options.topology,
    clusterCIDR: options.clusterCidr,
    serviceCIDR: options.serviceClusterIpRange,
    apiServer: new URL(server).hostname,
    cni: {
      client: await buildCniClient(linuxProcesses, options.cacheDir),
      dir: layout.cniDir,
      socket: layout.cniSocket,
      binDir: layout.cniBin,
      confDir: layout.cniConf,
    },
    dns: {
      clusterIP: options.clusterDns,
      domain: options.clusterDomain,
      resolvConf: readFileSync('/etc/resolv.conf', 'utf8'),
      recordsFile: layout.dnsRecords,
    },
    metrics,
    log: log.child({ part: 'network' }),
  });

/** Each runtime has one of the two; the other's may lie in a folder of root's alone. */
const forgetLiveness = (layout: NodeLayout, { runtime }: AgentOptions): void =>
  rmSync(runtime === 'simulated' ? kubeletPortFile(layout.root) : layout.agentSocket, { force: true });

/** Containers, and what they need, go on when what is opened here is closed. */
async function realRuntime(
  options: AgentOptions,
  layout: NodeLayout,
  host: Host,
  { log, metrics }: AgentSurroundings,
  opened: AsyncDisposableStack,
): Promise<NodeRuntime> {
  await host.files.makeDirectory(layout.sockets, 0o700);
  const proxyClient = await clientFrom(
    join(options.dataDir, 'kube-proxy.kubeconfig'),
    'porthole-proxy',
    systemClock,
  );
  opened.defer(() => proxyClient.close());
  const handler = options.os === 'windows' ? await windowsHandler(options, layout) : undefined;
  if (handler) log.info({ isolation: handler.isolation }, 'emulated Windows pods are kept apart');
  const containerd = await startNodeContainerd({
    layout,
    host,
    runtimeHandlers: handler?.runtimeHandlers,
    registryConfig: options.registryConfig,
    cacheDir: options.cacheDir,
    log,
  });
  const network = await nodeNetwork(options, layout, proxyClient, { log, metrics });
  opened.defer(() => network.stop());
  opened.defer(await containerd.keep(network.cables));
  const grpc = createGrpcClient(systemClock, `unix://${layout.containerdSocket}`);
  opened.defer(() => grpc.close());
  const { images, runtime } = createCri(grpc);
  const cri = { runtime, images: withRegistryAdvice(images, options.registryConfig) };
  return {
    clients: [proxyClient],
    kubelet: {
      cri: handler === undefined ? cri : withoutLeftovers(cri, host.files, handler.stateDir),
      nodeOs: await nodeOsOf(
        {
          os: options.os,
          windowsBuild: options.windowsBuild,
          hostDrive: layout.hostDrive,
          wineVersion: handler?.wineVersion,
          isolation: handler?.isolation,
          windowsTaint: options.windowsTaint,
          labels: {},
        },
        host,
      ),
      nodeProblems: containerd.problems,
      contentRoot: layout.containerdRoot,
      cgroupRoot: layout.cgroupRoot,
      ...(handler === undefined
        ? {}
        : { fullExitCode: (id: string) => readExitCode(host.files, handler.stateDir, id) }),
      keptOf: (id) => [
        imageVolumesDir(layout.containerdRoot, id),
        ...(handler === undefined ? [] : [exitCodeFile(handler.stateDir, id)]),
      ],
    },
  };
}

/** What the emulation keeps of a container goes with it. */
const withoutLeftovers = ({ runtime, images }: Cri, files: Host['files'], stateDir: string): Cri => ({
  images,
  runtime: {
    ...runtime,
    removeContainer: async (id) => {
      await runtime.removeContainer(id);
      await forgetExitCode(files, stateDir, id);
    },
  },
});

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
  forgetLiveness(layout, options);
  const host = createLinuxHost(
    options.runtime === 'simulated' ? {} : { beneath: await buildBeneath(linuxProcesses, options.cacheDir) },
  );
  const nodeClient = await clientFrom(options.kubeconfig, 'porthole-kubelet', systemClock);
  opened.defer(() => nodeClient.close());
  const { client } = nodeClient;
  const runtime: NodeRuntime =
    options.runtime === 'simulated'
      ? { kubelet: await simulatedRuntime({ ...options, name: options.nodeName, client }), clients: [] }
      : await realRuntime(options, layout, host, { log, metrics }, opened);
  const { memoryFloor } = runtime.kubelet.nodeOs;
  const informers = createInformerFactory({ client, clock: systemClock, random: systemRandom, log });
  opened.defer(() => informers.stop());
  const kubelet = await startKubelet({
    ...runtime.kubelet,
    client,
    informers,
    host,
    clock: systemClock,
    random: systemRandom,
    log,
    nodeName: options.nodeName,
    nodeIPs: [options.nodeIp],
    paths: { root: layout.kubelet, logs: join(options.dataDir, 'pod-logs') },
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
  if (options.runtime === 'simulated') writeFileSync(kubeletPortFile(options.dataDir), `${kubelet.port}\n`);
  else {
    const alive = await answerLiveness(layout.agentSocket);
    opened.defer(() => alive.close());
  }
  log.info({ port: kubelet.port }, 'agent runs');
}
