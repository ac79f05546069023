// A node agent as one process: containerd beside it, the kubelet, and the node's network.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Client } from '../../client/client.ts';
import { createClient } from '../../client/create-client.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { httpTransport } from '../../client/transport-http.ts';
import { createLogger, type Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { exitCodeFile, parseExitCode } from '../../component-helpers/emulated-windows.ts';
import { installWindowsHandler, type WindowsHandler } from '../../emulation/wine/windows-handler.ts';
import { type KubeletOptions, startKubelet } from '../../kubelet/kubelet.ts';
import { parseResolvConf } from '../../kubelet/runtime/dns-config.ts';
import type { Host } from '../../os/host.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient } from '../../wire/grpc-client.ts';
import { type NodeLayout, nodeLayout } from '../cluster/node-layout.ts';
import { buildCniClient, nativeDir } from '../cluster/prepare-machine.ts';
import { entryFile } from '../setup/package-root.ts';
import { startNodeNetwork } from './compose-node-network.ts';
import { startNodeContainerd } from './node-containerd.ts';
import { nodeOsOf } from './node-os.ts';
import { simulatedRuntime } from './simulated-node.ts';

/** The flags of `porthole agent`. */
export interface AgentOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly nodeIp: string;
  readonly dataDir: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild: number;
  readonly runtime: 'containerd' | 'simulated';
  readonly topology: string;
  readonly clusterCidr: string;
  readonly serviceClusterIpRange: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly port: number;
  readonly cacheDir: string;
  readonly verbose: boolean;
}

export interface RunningAgent {
  /** Containers go on running. */
  stop(): Promise<void>;
}

async function clientFrom(
  kubeconfig: string,
  userAgent: string,
): Promise<{ readonly client: Client; close(): Promise<void> }> {
  const { transport } = await loadKubeconfig(kubeconfig, (path) => readFile(path));
  const open = httpTransport(systemClock, transport);
  return { client: createClient(open, { userAgent }), close: () => open.close() };
}

const exitCodeOf =
  (handler: WindowsHandler) =>
  async (containerId: string): Promise<number | undefined> => {
    if (!/^[0-9a-f]+$/.test(containerId)) return undefined;
    const text = await readFile(exitCodeFile(handler.stateDir, containerId), 'utf8').catch(() => '');
    return parseExitCode(text);
  };

interface NodeRuntime {
  readonly kubelet: Pick<
    KubeletOptions,
    'cri' | 'nodeOs' | 'contentRoot' | 'cgroupRoot' | 'simulated' | 'fullExitCode'
  >;
  /** After the kubelet. Containers, and what they need, go on. */
  stop(): Promise<void>;
}

async function realRuntime(
  options: AgentOptions,
  layout: NodeLayout,
  host: Host,
  log: Logger,
): Promise<NodeRuntime> {
  const proxyClient = await clientFrom(join(options.dataDir, 'kube-proxy.kubeconfig'), 'porthole-proxy');
  const handler =
    options.os === 'windows'
      ? await installWindowsHandler({
          processes: linuxProcesses,
          cacheDir: options.cacheDir,
          build: options.windowsBuild,
          stateDir: layout.handler,
          nativeDir: nativeDir(),
          node: process.execPath,
          handlerMain: entryFile('wine-handler', 'src/emulation/wine/handler-main.ts'),
        })
      : undefined;
  const endSupervision = await startNodeContainerd({
    layout,
    host,
    windowsRuntimeBinary: handler?.binary,
    cacheDir: options.cacheDir,
    log,
  });
  const network = await startNodeNetwork({
    client: proxyClient.client,
    nodeName: options.nodeName,
    os: options.os,
    topology: options.topology,
    clusterCIDR: options.clusterCidr,
    serviceCIDR: options.serviceClusterIpRange,
    cni: {
      client: await buildCniClient(linuxProcesses, options.cacheDir),
      dir: layout.cniDir,
      binDir: layout.cniBin,
      confDir: layout.cniConf,
    },
    log: log.child({ part: 'network' }),
  });
  const grpc = createGrpcClient(systemClock, `unix://${layout.containerdSocket}`);
  return {
    kubelet: {
      cri: createCri(grpc),
      nodeOs: await nodeOsOf(
        { os: options.os, windowsBuild: options.windowsBuild, wineVersion: handler?.wineVersion, labels: {} },
        host,
      ),
      contentRoot: layout.containerdRoot,
      cgroupRoot: layout.cgroupRoot,
      ...(handler === undefined ? {} : { fullExitCode: exitCodeOf(handler) }),
    },
    stop: async () => {
      await network.stop();
      await proxyClient.close();
      await endSupervision();
      grpc.close();
    },
  };
}

/** Resolves once the node is being registered and its pods are watched. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const log = createLogger({ level: options.verbose ? 'debug' : 'info', name: `agent ${options.nodeName}` });
  const layout = nodeLayout(options.dataDir);
  const host = createLinuxHost();
  const { client, close } = await clientFrom(options.kubeconfig, 'porthole-kubelet');
  const runtime: NodeRuntime =
    options.runtime === 'simulated'
      ? {
          kubelet: await simulatedRuntime({ ...options, name: options.nodeName, client }),
          stop: async () => undefined,
        }
      : await realRuntime(options, layout, host, log);
  const file = (name: string): string => readFileSync(join(options.dataDir, name), 'utf8');
  const informers = createInformerFactory({ client, clock: systemClock, random: systemRandom, log });
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
    version: version.gitVersion,
    server: {
      address: options.nodeIp,
      port: options.port,
      tls: {
        cert: file('kubelet.crt'),
        key: file('kubelet.key'),
        clientCa: file('ca.crt'),
        trustedUsers: ['kube-apiserver-kubelet-client'],
      },
    },
  });
  log.info({ port: kubelet.port }, 'agent runs');
  return {
    stop: async () => {
      await kubelet.stop();
      await informers.stop();
      await runtime.stop();
      await close();
    },
  };
}
