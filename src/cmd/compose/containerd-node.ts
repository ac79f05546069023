// A node whose pods are containers: containerd beside the agent, the node's network, for Windows the emulation.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { exitCodeFile } from '../../component-helpers/emulated-windows.ts';
import { forgetExitCode, readExitCode } from '../../emulation/wine/exit-code.ts';
import { installWindowsHandler } from '../../emulation/wine/windows-handler.ts';
import { ctr } from '../../images/ctr.ts';
import { type WindowsPullDeps, withWindowsIndexes } from '../../images/windows-pull.ts';
import { imageVolumesDir } from '../../kubelet/containerd/containerd-config.ts';
import { createContainerdRuntime } from '../../kubelet/containerd/containerd-runtime.ts';
import { registryFolderOf, withRegistryAdvice } from '../../kubelet/containerd/registry-advice.ts';
import type { Host } from '../../os/host.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { blobFile } from '../../rpc-api/containerd-content.ts';
import { type Cri, createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient, type GrpcClient } from '../../wire/grpc-client.ts';
import type { NodeLayout } from '../cluster/node-layout.ts';
import { buildBeneath, buildCniClient, nativeDir } from '../cluster/prepare-machine.ts';
import { entryFile } from '../setup/package-root.ts';
import { answerLiveness } from '../supervisor/answer-liveness.ts';
import { composeNodeNetwork } from './compose-node-network.ts';
import { type NodeContainerd, startNodeContainerd } from './node-containerd.ts';
import { clientFrom, type FileClient } from './node-credentials.ts';
import { nodeOsOf } from './node-os.ts';
import type {
  AgentOptions,
  AgentSurroundings,
  NodeRuntimeDriver,
  OpenedRuntime,
  RuntimeInput,
} from './node-runtime-driver.ts';

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
): ReturnType<typeof composeNodeNetwork> =>
  composeNodeNetwork({
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
    syncPeriodMs: options.nftablesSyncPeriod,
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

async function containerdFor(
  options: AgentOptions,
  layout: NodeLayout,
  host: Host,
  log: AgentSurroundings['log'],
): Promise<{
  readonly handler: Awaited<ReturnType<typeof installWindowsHandler>> | undefined;
  readonly containerd: NodeContainerd;
}> {
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
  return { handler, containerd };
}

/** Both have ended when it rejects: what one of them has opened can be closed. */
async function together<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]);
}

async function open({ options, layout, log, metrics, opened }: RuntimeInput): Promise<OpenedRuntime> {
  const host = createLinuxHost({ beneath: await buildBeneath(linuxProcesses, options.cacheDir) });
  await host.files.makeDirectory(layout.sockets, 0o700);
  const proxyClient = await clientFrom(
    join(options.dataDir, 'kube-proxy.kubeconfig'),
    'porthole-proxy',
    systemClock,
    metrics,
  );
  opened.defer(() => proxyClient.close());
  // Neither waits for the other: a pod that containerd is asked for comes later than both.
  const [{ handler, containerd }, network] = await together(
    containerdFor(options, layout, host, log),
    nodeNetwork(options, layout, proxyClient, { log, metrics }).then((network) => {
      opened.defer(() => network.stop());
      return network;
    }),
  );
  opened.defer(await containerd.keep(network.cables));
  const grpc = createGrpcClient(systemClock, `unix://${layout.containerdSocket}`);
  opened.defer(() => grpc.close());
  const { images, runtime } = createCri(grpc);
  const chosen =
    handler === undefined ? images : withWindowsIndexes(images, windowsPulls(options, layout, grpc, host));
  const cri = { runtime, images: withRegistryAdvice(chosen, host.files, options.registryConfig) };
  return {
    clients: [proxyClient],
    kubelet: {
      host,
      runtime: await createContainerdRuntime({
        cri: handler === undefined ? cri : withoutLeftovers(cri, host.files, handler.stateDir),
        host,
        paths: { root: layout.kubelet, logs: join(options.dataDir, 'pod-logs') },
        registryLogins: async () => {
          const file = join(registryFolderOf(options.registryConfig), 'config.json');
          return (await host.files.readIfThere(file, { maxBytes: largestLogins }))?.toString();
        },
        contentRoot: layout.containerdRoot,
        cgroupRoot: layout.cgroupRoot,
        problems: containerd.problems,
        fullExitCode: async (id) => handler && readExitCode(host.files, handler.stateDir, id),
        keptOf: (id) => [
          imageVolumesDir(layout.containerdRoot, id),
          ...(handler === undefined ? [] : [exitCodeFile(handler.stateDir, id)]),
        ],
      }),
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
    },
  };
}

const largestIndex = 4 << 20;
const largestLogins = 1 << 20;

function windowsPulls(
  { windowsBuild }: AgentOptions,
  { containerdRoot, containerdSocket }: NodeLayout,
  grpc: GrpcClient,
  { files }: Host,
): WindowsPullDeps {
  const ctrImages = async (...args: readonly string[]): Promise<void> => {
    await ctr(linuxProcesses, containerdSocket, ['images', ...args]);
  };
  return {
    node: { os: 'windows', architecture: 'amd64', build: windowsBuild },
    grpc,
    clock: systemClock,
    random: systemRandom,
    readBlob: async (digest) => {
      const file = blobFile(containerdRoot, digest);
      const size = (await files.stat(file))?.sizeBytes ?? Number.POSITIVE_INFINITY;
      return size > largestIndex ? undefined : files.readIfThere(file);
    },
    tag: (from, to) => ctrImages('tag', '--force', from, to),
    untag: (names) => ctrImages('rm', ...names),
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

export const containerdNode: NodeRuntimeDriver = {
  open,
  forgetLiveness: (layout) => rmSync(layout.agentSocket, { force: true }),
  answerLiveness: async (layout) => {
    const alive = await answerLiveness(layout.agentSocket);
    return () => alive.close();
  },
};
