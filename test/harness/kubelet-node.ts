// One node in this process, Linux or emulated Windows: API server in memory, containerd and runc for real, Debian's CNI plugins.
import { mkdirSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import WebSocket from 'ws';
import { pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { type RestHandler, restKey } from '../../src/apiserver/registry/rest-storage.ts';
import { admin, startTestServer } from '../../src/apiserver/testing/test-server.ts';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { createLogger, silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { windowsVersionOf } from '../../src/component-helpers/windows-image-match.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { readExitCode } from '../../src/emulation/wine/exit-code.ts';
import { installWindowsHandler } from '../../src/emulation/wine/windows-handler.ts';
import { loadImage } from '../../src/images/load-image.ts';
import {
  busyboxImage,
  linuxSampleImages,
  pauseImage,
  type SampleImage,
} from '../../src/images/sample-images.ts';
import { ensureContainerd, removeContainerd } from '../../src/kubelet/containerd/containerd-process.ts';
import { createContainerdRuntime } from '../../src/kubelet/containerd/containerd-runtime.ts';
import { superviseContainerd } from '../../src/kubelet/containerd/containerd-supervisor.ts';
import { type Kubelet, type KubeletOptions, startKubelet } from '../../src/kubelet/kubelet.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import type { NodeOs } from '../../src/kubelet/node-os/node-os.ts';
import { createWindowsNodeOs } from '../../src/kubelet/node-os/windows.ts';
import type { NodeRuntime } from '../../src/kubelet/node-runtime.ts';
import type { Host } from '../../src/os/host.ts';
import { beneathProgram } from '../../src/os/linux/beneath-linux.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { createAccessReview } from '../../src/registry/authorization/access-reviews.ts';
import { type Cri, createCri } from '../../src/rpc-api/cri.ts';
import { createGrpcClient } from '../../src/wire/grpc-client.ts';
import { containerdIn } from './containerd-folders.ts';
import { eventually } from './eventually.ts';
import { frozenInformers } from './frozen-informers.ts';
import { createNodeNamespaces } from './node-namespaces.ts';
import { scratchDirectory } from './scratch.ts';

export interface KubeletNode {
  readonly client: Client;
  readonly cri: Cri;
  readonly directory: string;
  readonly image: string;
  create(name: string, spec: object, metadata?: object): Promise<Pod>;
  get(name: string): Promise<Pod>;
  until(name: string, what: string, holds: (pod: Pod) => boolean | undefined): Promise<Pod>;
  remove(name: string): Promise<void>;
  restartAgent(): Promise<void>;
  /** A request to the kubelet's server; `as` is the certificate's common name, '' for none. */
  request(
    path: string,
    as?: string,
    method?: string,
  ): Promise<{ readonly status: number; readonly text: string }>;
  /** exec over a WebSocket of v4.channel.k8s.io: channel number to text. */
  exec(path: string): Promise<ReadonlyMap<number, string>>;
  close(): Promise<void>;
}

const nativeDir = fileURLToPath(new URL('../../native', import.meta.url));
/** Named after the test's folder: tests may run at the same time, and a killed one is tidied up by its folder. */
const cgroupRootOf = (directory: string): string => `/${basename(directory)}`;
const day = 86_400_000;

async function certificates(): Promise<{
  readonly ca: string;
  readonly server: { readonly cert: string; readonly key: string };
  client(name: string): Promise<{ readonly cert: string; readonly key: string }>;
}> {
  const [notBefore, notAfter] = [Date.now() - day, Date.now() + day];
  const ca = await createCertificateAuthority({ commonName: 'test-ca', notBefore, notAfter });
  const issue = async (commonName: string, usage: 'server' | 'client', ips: string[] = []) => {
    const pair = await issueCertificate(ca, { commonName, notBefore, notAfter, usages: [usage], ips });
    return { cert: pair.certificatePem, key: pair.privateKeyPem };
  };
  return {
    ca: ca.certificatePem,
    server: await issue('node-1', 'server', ['127.0.0.1']),
    client: (name) => issue(name, 'client'),
  };
}

const network = (directory: string): object => ({
  cniVersion: '0.4.0',
  name: 'test',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cbr0',
      isGateway: true,
      ipam: { type: 'host-local', dataDir: join(directory, 'ipam'), ranges: [[{ subnet: '10.244.0.0/24' }]] },
    },
  ],
});

export interface RunningContainerd {
  readonly host: Host;
  readonly contentRoot: string;
  readonly fullExitCode: NodeRuntime['fullExitCode'];
  readonly cri: Cri;
  close(): Promise<void>;
}

/** containerd with its images and a network of its own, below `directory`. */
export async function startRuntime(
  directory: string,
  node: KubeletNodeOptions = {},
): Promise<RunningContainerd> {
  const handler =
    node.windowsBuild === undefined
      ? undefined
      : await installWindowsHandler({
          processes: linuxProcesses,
          cacheDir: portholeCache(),
          nativeDir,
          build: node.windowsBuild,
          stateDir: join(directory, 'handler'),
          node: process.execPath,
          handlerMain: fileURLToPath(new URL('../../src/emulation/wine/handler-main.ts', import.meta.url)),
        });
  const beneath = await buildNative(linuxProcesses, portholeCache(), beneathProgram(nativeDir));
  const host = createLinuxHost({ beneath });
  const deps = { host, clock: systemClock, log: silentLogger };
  const options = {
    ...containerdIn(directory, pauseImage),
    // A test that pulls writes `<registry>/hosts.toml` there.
    registryConfigDir: join(directory, 'certs.d'),
    runtimeHandlers: handler?.runtimeHandlers,
  };
  mkdirSync(options.cniConfDir, { recursive: true });
  writeFileSync(join(options.cniConfDir, '10-test.conflist'), JSON.stringify(network(directory)));
  await ensureContainerd(deps, options);
  const stopSupervision = superviseContainerd(deps, options);
  const images = await linuxSampleImages({ processes: linuxProcesses, cacheDir: portholeCache(), nativeDir });
  const load = { processes: linuxProcesses, address: options.address };
  // The node's own are no stranger's: an archive that is checked may not name the sandbox's image.
  for (const { file, platform } of images) await loadImage({ ...load, file, platform, checked: true });
  for (const { file, platform } of node.images ?? []) await loadImage({ ...load, file, platform });
  const grpc = createGrpcClient(systemClock, `unix://${options.address}`);
  return {
    host,
    contentRoot: options.root,
    fullExitCode: async (id: string) => handler && readExitCode(host.files, handler.stateDir, id),
    cri: createCri(grpc),
    close: async () => {
      grpc.close();
      await stopSupervision();
      await removeContainerd(deps, { ...options, images: true, cgroupRoot: cgroupRootOf(directory) });
    },
  };
}

export interface KubeletNodeOptions {
  readonly limits?: Pick<KubeletOptions, 'podPidsLimit' | 'reserved' | 'thresholds'>;
  /** The kubelet's folder is a disk of its own, of this size. */
  readonly diskMegabytes?: number;
  /** An emulated Windows node of this build. */
  readonly windowsBuild?: number;
  /** Loaded beside the sandbox image and busybox. */
  readonly images?: readonly SampleImage[];
}

function nodeOsOf(build: number | undefined, hostDrive: string): NodeOs {
  if (build === undefined) return createLinuxNodeOs({ osImage: 'Linux', kernelVersion: '6' });
  const { productName, kernelVersion } = windowsVersionOf(build)!;
  return createWindowsNodeOs({ build, osImage: productName, kernelVersion, emulated: true, hostDrive });
}

const apiServerUser = 'kube-apiserver-kubelet-client';
/** Answers a kubelet that asks what a certificate's holder may do: one user has all rights on nodes. */
const accessReviews: readonly [string, RestHandler] = [
  restKey('authorization.k8s.io', 'subjectaccessreviews'),
  createAccessReview('SubjectAccessReview', {
    authorize: ({ user, resource }) => ({
      decision: user.name === apiServerUser && resource === 'nodes' ? 'allow' : 'no-opinion',
      reason: '',
    }),
  }),
];

export async function startKubeletNode(options: KubeletNodeOptions = {}): Promise<KubeletNode> {
  const scratch = scratchDirectory('kubelet');
  const directory = scratch.path;
  const root = join(directory, 'kubelet');
  if (options.diskMegabytes !== undefined) {
    mkdirSync(root);
    const sizeBytes = options.diskMegabytes << 20;
    await createLinuxHost().mounts.tmpfs(root, { sizeBytes, mode: 0o755 });
  }
  const runtime = await startRuntime(directory, options);
  const tls = await certificates();
  const server = await startTestServer({ restStorage: new Map([accessReviews]) });
  const client = createClient(inProcessTransport((request) => server.api.handle(request), admin));
  await createNodeNamespaces(client);
  const log = process.env['KUBELET_LOG'] === undefined ? silentLogger : createLogger({ level: 'debug' });
  const common = { client, clock: systemClock, random: systemRandom, log };
  const start = async (): Promise<Kubelet> => {
    const informers = frozenInformers(common);
    const running = await startKubelet({
      ...common,
      informers,
      runtime: await createContainerdRuntime({
        cri: runtime.cri,
        host: runtime.host,
        paths: { root, logs: join(directory, 'pod-logs') },
        fullExitCode: runtime.fullExitCode,
        contentRoot: runtime.contentRoot,
        cgroupRoot: cgroupRootOf(directory),
      }),
      host: runtime.host,
      nodeOs: nodeOsOf(options.windowsBuild, join(directory, 'drive-c')),
      nodeName: 'node-1',
      nodeIPs: ['10.1.0.11'],
      dns: {
        servers: ['10.96.0.10'],
        domain: 'cluster.local',
        host: { servers: [], searches: [], options: [] },
      },
      version: 'v1.36.0',
      ...options.limits,
      server: {
        address: '127.0.0.1',
        port: 0,
        tls: { ...tls.server, clientCa: tls.ca },
      },
    });
    return {
      port: running.port,
      setServerTls: running.setServerTls,
      stop: async () => {
        await running.stop();
        await informers.stop();
      },
    };
  };
  let kubelet = await start();
  const get = (name: string): Promise<Pod> => client.get(pods, { name, namespace: 'default' });
  const trusted = apiServerUser;
  return {
    client,
    cri: runtime.cri,
    directory,
    image: busyboxImage,
    get,
    create: (name, spec, metadata = {}) =>
      client.create(pods, {
        metadata: { name, namespace: 'default', ...metadata },
        spec: { nodeName: 'node-1', terminationGracePeriodSeconds: 1, ...spec } as Pod['spec'],
      }),
    until: (name, what, holds) =>
      eventually(
        async () => {
          const pod = await get(name);
          if (!holds(pod)) throw new Error(`${name}: ${what}; it is ${JSON.stringify(pod.status)}`);
          return pod;
        },
        { timeoutMs: 20_000, everyMs: 20 },
      ),
    remove: async (name) => {
      await client.delete(pods, { name, namespace: 'default' });
      await eventually(async () => {
        if ((await client.list(pods)).items.some((p) => p.metadata.name === name))
          throw new Error(`${name} is there`);
      });
    },
    restartAgent: async () => {
      await kubelet.stop();
      kubelet = await start();
    },
    request: async (path, as = trusted, method = 'GET') => {
      const pair = as === '' ? {} : await tls.client(as);
      return new Promise((resolve, reject) => {
        const options = {
          host: '127.0.0.1',
          port: kubelet.port,
          path,
          method,
          ca: tls.ca,
          ...pair,
          agent: false,
        };
        const request = httpsRequest(options, (response) => {
          const parts: Buffer[] = [];
          response.on('data', (data: Buffer) => parts.push(data));
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
          );
        });
        request.on('error', reject);
        request.end();
      });
    },
    exec: async (path) => {
      const pair = await tls.client(trusted);
      const socket = new WebSocket(`wss://127.0.0.1:${kubelet.port}${path}`, ['v4.channel.k8s.io'], {
        ca: tls.ca,
        ...pair,
      });
      const channels = new Map<number, string>();
      return new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('message', (data: Buffer) => {
          const channel = data[0] ?? 0;
          channels.set(channel, (channels.get(channel) ?? '') + data.subarray(1).toString());
        });
        socket.on('close', () => resolve(channels));
      });
    },
    close: async () => {
      await kubelet.stop();
      await server.close();
      await runtime.close();
      if (options.diskMegabytes !== undefined) await createLinuxHost().mounts.unmountAllBelow(root);
      scratch.remove();
    },
  };
}
