// The CRI v1 client: the calls that the kubelet makes, typed, each with a deadline; those that can last also with a signal.
import type { GrpcClient } from '../wire/grpc-client.ts';
import { criMethod } from './cri-codec.ts';
import type * as v1 from './generated/cri-v1.ts';

/** Aborted: the call is cancelled, also at the runtime, and rejects with the signal's reason at once. */
type Signal = AbortSignal | undefined;

export interface RuntimeService {
  version(): Promise<v1.VersionResponse>;
  status(verbose?: boolean): Promise<v1.StatusResponse>;
  runPodSandbox(config: v1.PodSandboxConfig, runtimeHandler: string, signal?: Signal): Promise<string>;
  stopPodSandbox(podSandboxId: string, signal?: Signal): Promise<void>;
  removePodSandbox(podSandboxId: string): Promise<void>;
  podSandboxStatus(podSandboxId: string, signal?: Signal): Promise<v1.PodSandboxStatusResponse>;
  listPodSandbox(filter?: v1.PodSandboxFilter, signal?: Signal): Promise<readonly v1.PodSandbox[]>;
  createContainer(
    podSandboxId: string,
    config: v1.ContainerConfig,
    sandboxConfig: v1.PodSandboxConfig,
    signal?: Signal,
  ): Promise<string>;
  startContainer(containerId: string, signal?: Signal): Promise<void>;
  /** `timeoutSeconds`: how long it may take to end by itself before it is killed. */
  stopContainer(containerId: string, timeoutSeconds: number, signal?: Signal): Promise<void>;
  removeContainer(containerId: string): Promise<void>;
  /** What is not named stays as it is. */
  updateContainerResources(
    containerId: string,
    linux: v1.LinuxContainerResources,
    signal?: Signal,
  ): Promise<void>;
  listContainers(filter?: v1.ContainerFilter, signal?: Signal): Promise<readonly v1.Container[]>;
  containerStatus(containerId: string, signal?: Signal): Promise<v1.ContainerStatus>;
  reopenContainerLog(containerId: string): Promise<void>;
  /** `timeoutSeconds` 0 means none. */
  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    signal?: Signal,
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
    signal?: Signal,
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
/** A pull, or a command without a time-out of its own. */
const longestWorkMs = 3_600_000;
const quick = { timeoutMs: 10_000 };

interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: Signal;
}

type Call = <Q extends object, R>(method: string, request: Q, options?: CallOptions) => Promise<R>;
const callsOf =
  (client: GrpcClient, service: string): Call =>
  (method, request, options = {}) =>
    client.unary(criMethod(service, method), request, { timeoutMs: requestTimeoutMs, ...options });

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
    version: () => call<v1.VersionRequest, v1.VersionResponse>('Version', { version: '0.1.0' }, quick),
    status: (verbose = false) => call<v1.StatusRequest, v1.StatusResponse>('Status', { verbose }, quick),
    runPodSandbox: async (config, runtimeHandler, signal) =>
      (
        await call<v1.RunPodSandboxRequest, v1.RunPodSandboxResponse>(
          'RunPodSandbox',
          { config, runtimeHandler },
          { timeoutMs: 2 * requestTimeoutMs, signal },
        )
      ).podSandboxId ?? '',
    stopPodSandbox: async (podSandboxId, signal) =>
      void (await call('StopPodSandbox', { podSandboxId }, { signal })),
    removePodSandbox: async (podSandboxId) => void (await call('RemovePodSandbox', { podSandboxId })),
    podSandboxStatus: (podSandboxId, signal) => call('PodSandboxStatus', { podSandboxId }, { signal }),
    listPodSandbox: async (filter = {}, signal) =>
      (
        await call<v1.ListPodSandboxRequest, v1.ListPodSandboxResponse>(
          'ListPodSandbox',
          { filter },
          { signal },
        )
      ).items ?? [],
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
  | 'updateContainerResources'
  | 'listContainers'
  | 'containerStatus'
  | 'reopenContainerLog'
> {
  return {
    createContainer: async (podSandboxId, config, sandboxConfig, signal) =>
      (
        await call<v1.CreateContainerRequest, v1.CreateContainerResponse>(
          'CreateContainer',
          { podSandboxId, config, sandboxConfig },
          { signal },
        )
      ).containerId ?? '',
    startContainer: async (containerId, signal) =>
      void (await call('StartContainer', { containerId }, { signal })),
    stopContainer: async (containerId, timeoutSeconds, signal) => {
      const timeout = Math.min(timeoutSeconds, longestSeconds);
      const timeoutMs = requestTimeoutMs + timeout * 1000;
      await call('StopContainer', { containerId, timeout }, { timeoutMs, signal });
    },
    removeContainer: async (containerId) => void (await call('RemoveContainer', { containerId })),
    updateContainerResources: async (containerId, linux, signal) => {
      const request: v1.UpdateContainerResourcesRequest = { containerId, linux };
      await call('UpdateContainerResources', request, { signal });
    },
    listContainers: async (filter = {}, signal) =>
      (
        await call<v1.ListContainersRequest, v1.ListContainersResponse>(
          'ListContainers',
          { filter },
          { signal },
        )
      ).containers ?? [],
    containerStatus: async (containerId, signal) => {
      const { status } = await call<v1.ContainerStatusRequest, v1.ContainerStatusResponse>(
        'ContainerStatus',
        { containerId },
        { signal },
      );
      if (!status) throw new Error(`the runtime gave no status of container ${containerId}`);
      return status;
    },
    reopenContainerLog: async (containerId) => void (await call('ReopenContainerLog', { containerId })),
  };
}

function streamCalls(call: Call): Pick<RuntimeService, 'execSync' | 'exec' | 'attach' | 'portForward'> {
  return {
    execSync: async (containerId, cmd, timeoutSeconds, signal) => {
      const timeoutMs = timeoutSeconds > 0 ? (timeoutSeconds + 10) * 1000 : longestWorkMs;
      const answer = await call<v1.ExecSyncRequest, v1.ExecSyncResponse>(
        'ExecSync',
        { containerId, cmd, timeout: timeoutSeconds },
        { timeoutMs, signal },
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
    pullImage: async (image, auth, sandboxConfig, signal) =>
      (
        await call<v1.PullImageRequest, v1.PullImageResponse>(
          'PullImage',
          { image, auth, sandboxConfig },
          { timeoutMs: longestWorkMs, signal },
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
