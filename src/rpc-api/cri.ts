// The CRI v1 client: the calls that the kubelet makes, typed, each with a deadline.
import type { GrpcClient } from '../wire/grpc-client.ts';
import { criMethod } from './cri-codec.ts';
import type * as v1 from './generated/cri-v1.ts';

export interface RuntimeService {
  version(): Promise<v1.VersionResponse>;
  status(verbose?: boolean): Promise<v1.StatusResponse>;
  runPodSandbox(config: v1.PodSandboxConfig, runtimeHandler: string): Promise<string>;
  stopPodSandbox(podSandboxId: string): Promise<void>;
  removePodSandbox(podSandboxId: string): Promise<void>;
  podSandboxStatus(podSandboxId: string): Promise<v1.PodSandboxStatusResponse>;
  listPodSandbox(filter?: v1.PodSandboxFilter): Promise<readonly v1.PodSandbox[]>;
  createContainer(
    podSandboxId: string,
    config: v1.ContainerConfig,
    sandboxConfig: v1.PodSandboxConfig,
  ): Promise<string>;
  startContainer(containerId: string): Promise<void>;
  /** `timeoutSeconds`: how long it may take to end by itself before it is killed. */
  stopContainer(containerId: string, timeoutSeconds: number): Promise<void>;
  removeContainer(containerId: string): Promise<void>;
  listContainers(filter?: v1.ContainerFilter): Promise<readonly v1.Container[]>;
  containerStatus(containerId: string): Promise<v1.ContainerStatus>;
  reopenContainerLog(containerId: string): Promise<void>;
  /** `timeoutSeconds` 0 means none. */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
  ): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array; readonly exitCode: number }>;
  /** Each answers the URL of the streaming server. */
  exec(request: v1.ExecRequest): Promise<string>;
  attach(request: v1.AttachRequest): Promise<string>;
  portForward(request: v1.PortForwardRequest): Promise<string>;
  listContainerStats(filter?: v1.ContainerStatsFilter): Promise<readonly v1.ContainerStats[]>;
  listPodSandboxStats(filter?: v1.PodSandboxStatsFilter): Promise<readonly v1.PodSandboxStats[]>;
  updateRuntimeConfig(podCidr: string): Promise<void>;
  /** Not every runtime has it: then the iteration throws Unimplemented. */
  containerEvents(signal: AbortSignal): AsyncIterable<v1.ContainerEventResponse>;
}

export interface ImageService {
  listImages(): Promise<readonly v1.Image[]>;
  /** Undefined when the image is not there. */
  imageStatus(image: v1.ImageSpec): Promise<v1.Image | undefined>;
  imageStatusVerbose(image: v1.ImageSpec): Promise<v1.ImageStatusResponse>;
  /** Answers the image's reference. */
  pullImage(
    image: v1.ImageSpec,
    auth: v1.AuthConfig | undefined,
    sandboxConfig: v1.PodSandboxConfig | undefined,
  ): Promise<string>;
  removeImage(image: v1.ImageSpec): Promise<void>;
  imageFsInfo(): Promise<v1.ImageFsInfoResponse>;
}

export interface Cri {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
}

/** Upstream's runtimeRequestTimeout; sandboxes get twice that. */
const requestTimeoutMs = 120_000;

/** What a time.Duration of a runtime in Go holds; more would be negative there, and kill at once. */
const longestSeconds = 9_223_372_036;
const pullTimeoutMs = 3_600_000;

type Call = <Q extends object, R>(method: string, request: Q, timeoutMs?: number) => Promise<R>;
const callsOf =
  (client: GrpcClient, service: string): Call =>
  (method, request, timeoutMs = requestTimeoutMs) =>
    client.unary(criMethod(service, method), request, { timeoutMs });

function sandboxCalls(
  call: Call,
): Pick<
  RuntimeService,
  | 'version'
  | 'status'
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'podSandboxStatus'
  | 'listPodSandbox'
> {
  return {
    version: () => call<v1.VersionRequest, v1.VersionResponse>('Version', { version: '0.1.0' }, 10_000),
    status: (verbose = false) => call<v1.StatusRequest, v1.StatusResponse>('Status', { verbose }, 10_000),
    runPodSandbox: async (config, runtimeHandler) =>
      (
        await call<v1.RunPodSandboxRequest, v1.RunPodSandboxResponse>(
          'RunPodSandbox',
          { config, runtimeHandler },
          2 * requestTimeoutMs,
        )
      ).podSandboxId ?? '',
    stopPodSandbox: async (podSandboxId) => void (await call('StopPodSandbox', { podSandboxId })),
    removePodSandbox: async (podSandboxId) => void (await call('RemovePodSandbox', { podSandboxId })),
    podSandboxStatus: (podSandboxId) => call('PodSandboxStatus', { podSandboxId }),
    listPodSandbox: async (filter = {}) =>
      (await call<v1.ListPodSandboxRequest, v1.ListPodSandboxResponse>('ListPodSandbox', { filter })).items ??
      [],
  };
}

function containerCalls(
  call: Call,
): Pick<
  RuntimeService,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'containerStatus'
  | 'reopenContainerLog'
> {
  return {
    createContainer: async (podSandboxId, config, sandboxConfig) =>
      (
        await call<v1.CreateContainerRequest, v1.CreateContainerResponse>('CreateContainer', {
          podSandboxId,
          config,
          sandboxConfig,
        })
      ).containerId ?? '',
    startContainer: async (containerId) => void (await call('StartContainer', { containerId })),
    stopContainer: async (containerId, timeoutSeconds) => {
      const timeout = Math.min(timeoutSeconds, longestSeconds);
      await call('StopContainer', { containerId, timeout }, requestTimeoutMs + timeout * 1000);
    },
    removeContainer: async (containerId) => void (await call('RemoveContainer', { containerId })),
    listContainers: async (filter = {}) =>
      (await call<v1.ListContainersRequest, v1.ListContainersResponse>('ListContainers', { filter }))
        .containers ?? [],
    containerStatus: async (containerId) => {
      const { status } = await call<v1.ContainerStatusRequest, v1.ContainerStatusResponse>(
        'ContainerStatus',
        { containerId },
      );
      if (!status) throw new Error(`the runtime gave no status of container ${containerId}`);
      return status;
    },
    reopenContainerLog: async (containerId) => void (await call('ReopenContainerLog', { containerId })),
  };
}

function streamCalls(call: Call): Pick<RuntimeService, 'execSync' | 'exec' | 'attach' | 'portForward'> {
  return {
    execSync: async (containerId, cmd, timeoutSeconds) => {
      const answer = await call<v1.ExecSyncRequest, v1.ExecSyncResponse>(
        'ExecSync',
        { containerId, cmd, timeout: timeoutSeconds },
        timeoutSeconds > 0 ? (timeoutSeconds + 10) * 1000 : pullTimeoutMs,
      );
      return {
        stdout: answer.stdout ?? new Uint8Array(),
        stderr: answer.stderr ?? new Uint8Array(),
        exitCode: answer.exitCode ?? 0,
      };
    },
    exec: async (request) => (await call<v1.ExecRequest, v1.ExecResponse>('Exec', request)).url ?? '',
    attach: async (request) => (await call<v1.AttachRequest, v1.AttachResponse>('Attach', request)).url ?? '',
    portForward: async (request) =>
      (await call<v1.PortForwardRequest, v1.PortForwardResponse>('PortForward', request)).url ?? '',
  };
}

function imageCalls(call: Call): ImageService {
  const statusOf = (image: v1.ImageSpec, verbose: boolean): Promise<v1.ImageStatusResponse> =>
    call('ImageStatus', { image, verbose });
  return {
    listImages: async () =>
      (await call<v1.ListImagesRequest, v1.ListImagesResponse>('ListImages', {})).images ?? [],
    imageStatus: async (image) => (await statusOf(image, false)).image ?? undefined,
    imageStatusVerbose: (image) => statusOf(image, true),
    pullImage: async (image, auth, sandboxConfig) =>
      (
        await call<v1.PullImageRequest, v1.PullImageResponse>(
          'PullImage',
          { image, auth, sandboxConfig },
          pullTimeoutMs,
        )
      ).imageRef ?? '',
    removeImage: async (image) => void (await call('RemoveImage', { image })),
    imageFsInfo: () => call('ImageFsInfo', {}),
  };
}

/** Over a client of containerd's (or another runtime's) socket. */
export function createCri(client: GrpcClient): Cri {
  const call = callsOf(client, 'RuntimeService');
  return {
    runtime: {
      ...sandboxCalls(call),
      ...containerCalls(call),
      ...streamCalls(call),
      listContainerStats: async (filter = {}) =>
        (
          await call<v1.ListContainerStatsRequest, v1.ListContainerStatsResponse>('ListContainerStats', {
            filter,
          })
        ).stats ?? [],
      listPodSandboxStats: async (filter = {}) =>
        (
          await call<v1.ListPodSandboxStatsRequest, v1.ListPodSandboxStatsResponse>('ListPodSandboxStats', {
            filter,
          })
        ).stats ?? [],
      updateRuntimeConfig: async (podCidr) =>
        void (await call('UpdateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } })),
      containerEvents: (signal) =>
        client.serverStream(
          criMethod<v1.GetEventsRequest, v1.ContainerEventResponse>('RuntimeService', 'GetContainerEvents'),
          {},
          signal,
        ),
    },
    images: imageCalls(callsOf(client, 'ImageService')),
  };
}
