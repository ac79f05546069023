// A container runtime without containers: sandboxes and containers are state machines with a clock. Nothing runs.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import type { Cri, ImageService, RuntimeService } from '../../rpc-api/cri.ts';
import type * as v1 from '../../rpc-api/generated/cri-v1.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { annotationSimulatedExitCode, annotationSimulatedRunSeconds } from '../pod-format.ts';
import { createAddressPool } from './address-pool.ts';

/** Every node of a simulated runtime says so. */
export const simulatedLabels: Readonly<Record<string, string>> = { [simulatedNodeLabel]: 'true' };

export interface SimulatedCriOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The node's pod CIDR, `10.244.1.0/24`; asked when the first pod needs an address. */
  readonly podCidr: () => Promise<string>;
  readonly version: string;
  /** Default 0: sandboxes and containers start at once. */
  readonly startMs?: number;
}

interface Sandbox {
  readonly id: string;
  readonly config: v1.PodSandboxConfig;
  readonly createdAt: number;
  readonly ip: string;
  readonly handler: string;
  ready: boolean;
}

interface Container {
  readonly id: string;
  readonly sandbox: Sandbox;
  readonly config: v1.ContainerConfig;
  readonly createdAt: number;
  state: v1.ContainerState;
  startedAt: number;
  finishedAt: number;
  exitCode: number;
  resources: v1.LinuxContainerResources | undefined;
  cancel: (() => void) | undefined;
}

const matches = (
  labels: Record<string, string> | undefined,
  wanted: Record<string, string> | undefined,
): boolean => Object.entries(wanted ?? {}).every(([k, v]) => labels?.[k] === v);

class SimulatedRuntime {
  readonly sandboxes = new Map<string, Sandbox>();
  readonly containers = new Map<string, Container>();
  readonly #options: SimulatedCriOptions;
  readonly #pool = createAddressPool();

  constructor(options: SimulatedCriOptions) {
    this.#options = options;
  }

  nowNs(): number {
    return this.#options.clock.now() * 1e6;
  }
  #id(): string {
    return `${this.#options.random.uuid()}${this.#options.random.uuid()}`.replaceAll('-', '');
  }
  async #pause(): Promise<void> {
    const ms = this.#options.startMs ?? 0;
    if (ms > 0) await this.#options.clock.sleep(ms);
  }

  sandbox(id: string): Sandbox {
    const found = this.sandboxes.get(id);
    if (!found) throw new GrpcError('', 'NotFound', `an error occurred when try to find sandbox: not found`);
    return found;
  }
  container(id: string): Container {
    const found = this.containers.get(id);
    if (!found)
      throw new GrpcError('', 'NotFound', `an error occurred when try to find container "${id}": not found`);
    return found;
  }

  async run(config: v1.PodSandboxConfig, handler: string): Promise<string> {
    await this.#pause();
    const onHost = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    const id = this.#id();
    const ip = onHost ? '' : this.#pool.take(await this.#options.podCidr());
    this.sandboxes.set(id, { id, config, createdAt: this.nowNs(), ip, handler, ready: true });
    return id;
  }

  create(sandboxId: string, config: v1.ContainerConfig): string {
    const id = this.#id();
    this.containers.set(id, {
      id,
      sandbox: this.sandbox(sandboxId),
      config,
      createdAt: this.nowNs(),
      state: 'CONTAINER_CREATED',
      startedAt: 0,
      finishedAt: 0,
      exitCode: 0,
      resources: config.linux?.resources ?? undefined,
      cancel: undefined,
    });
    return id;
  }

  async start(id: string): Promise<void> {
    await this.#pause();
    const c = this.container(id);
    c.state = 'CONTAINER_RUNNING';
    c.startedAt = this.nowNs();
    const annotations = { ...c.config.annotations, ...c.sandbox.config.annotations };
    const seconds = Number(annotations[annotationSimulatedRunSeconds] ?? Number.NaN);
    if (!(seconds >= 0)) return;
    const code = Number(annotations[annotationSimulatedExitCode] ?? 0);
    c.cancel = this.#options.clock.timer(seconds * 1000, () => this.end(c, code));
  }

  end(c: Container, code: number): void {
    c.cancel?.();
    if (c.state === 'CONTAINER_EXITED') return;
    c.state = 'CONTAINER_EXITED';
    c.finishedAt = this.nowNs();
    c.exitCode = Number.isInteger(code) ? code : 0;
  }

  stopSandbox(id: string): void {
    const s = this.sandboxes.get(id);
    if (!s) return;
    s.ready = false;
    for (const c of this.containers.values()) if (c.sandbox === s) this.end(c, 137);
    this.#pool.give(s.ip);
  }

  removeSandbox(id: string): void {
    this.stopSandbox(id);
    for (const c of this.containers.values()) if (c.sandbox.id === id) this.containers.delete(c.id);
    this.sandboxes.delete(id);
  }
}

const sandboxState = (s: Sandbox): v1.PodSandboxState => (s.ready ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY');

function sandboxStatus(s: Sandbox): v1.PodSandboxStatusResponse {
  const { metadata, labels, annotations } = s.config;
  return {
    status: {
      id: s.id,
      metadata,
      labels,
      annotations,
      state: sandboxState(s),
      createdAt: s.createdAt,
      network: { ip: s.ip, additionalIps: [] },
      runtimeHandler: s.handler,
    },
  };
}

function containerStatus(c: Container): v1.ContainerStatus {
  const { metadata, labels, annotations, image } = c.config;
  return {
    id: c.id,
    metadata,
    labels,
    annotations,
    state: c.state,
    createdAt: c.createdAt,
    startedAt: c.startedAt,
    finishedAt: c.finishedAt,
    exitCode: c.exitCode,
    reason: c.state !== 'CONTAINER_EXITED' ? '' : c.exitCode === 0 ? 'Completed' : 'Error',
    message: '',
    image: { image: image?.userSpecifiedImage || (image?.image ?? '') },
    imageRef: image?.image ?? '',
    logPath: '',
    ...(c.resources ? { resources: { linux: c.resources } } : {}),
  };
}

const notSimulated = (what: string): GrpcError =>
  new GrpcError('', 'Unimplemented', `${what} needs a real container: this node is simulated`);

function runtimeService(world: SimulatedRuntime, options: SimulatedCriOptions): RuntimeService {
  return {
    version: async () => ({
      runtimeName: 'simulated',
      runtimeVersion: options.version,
      runtimeApiVersion: 'v1',
    }),
    status: async () => ({
      status: {
        conditions: [
          { type: 'RuntimeReady', status: true },
          { type: 'NetworkReady', status: true },
        ],
      },
      // No process runs that could have a group too many.
      features: { supplementalGroupsPolicy: true },
    }),
    runPodSandbox: (config, handler) => world.run(config, handler),
    stopPodSandbox: async (id) => world.stopSandbox(id),
    removePodSandbox: async (id) => world.removeSandbox(id),
    podSandboxStatus: async (id) => sandboxStatus(world.sandbox(id)),
    listPodSandbox: async (filter) =>
      [...world.sandboxes.values()]
        .filter((s) => matches(s.config.labels, filter?.labelSelector))
        .map((s) => ({
          id: s.id,
          metadata: s.config.metadata,
          labels: s.config.labels,
          state: sandboxState(s),
          createdAt: s.createdAt,
        })),
    createContainer: async (sandboxId, config) => world.create(sandboxId, config),
    startContainer: (id) => world.start(id),
    // A made-up program always ends when it is asked to.
    stopContainer: async (id) => world.end(world.container(id), 0),
    removeContainer: async (id) => void world.containers.delete(id),
    updateContainerResources: async (id, linux) => {
      const container = world.container(id);
      container.resources = { ...container.resources, ...linux };
    },
    listContainers: async (filter) =>
      [...world.containers.values()]
        .filter((c) => matches(c.config.labels, filter?.labelSelector))
        .map((c) => ({ id: c.id, podSandboxId: c.sandbox.id, labels: c.config.labels, state: c.state })),
    containerStatus: async (id) => containerStatus(world.container(id)),
    reopenContainerLog: async () => undefined,
    execSync: async () => {
      throw notSimulated('exec');
    },
    exec: async () => {
      throw notSimulated('exec');
    },
    attach: async () => {
      throw notSimulated('attach');
    },
    portForward: async () => {
      throw notSimulated('port-forward');
    },
    listContainerStats: async () => [],
    listPodSandboxStats: async () => [],
    updateRuntimeConfig: async () => undefined,
    containerEvents: () => {
      throw notSimulated('events');
    },
  };
}

/** No image is looked into, so none may be taken for one that runs as root: pods that must not would never start. */
const madeUpUser = 65532;

function imageService(): ImageService {
  const image = (spec: v1.ImageSpec): v1.Image => ({
    id: spec.image,
    repoTags: [spec.image ?? ''],
    repoDigests: [],
    size: 0,
    uid: { value: madeUpUser },
    username: '',
  });
  return {
    listImages: async () => [],
    // Every image is there: none is ever looked for.
    imageStatus: async (spec) => image(spec),
    imageStatusVerbose: async (spec) => ({ image: image(spec) }),
    pullImage: async (spec) => spec.image ?? '',
    removeImage: async () => undefined,
    imageFsInfo: async () => ({ imageFilesystems: [] }),
  };
}

export function createSimulatedCri(options: SimulatedCriOptions): Cri {
  return { runtime: runtimeService(new SimulatedRuntime(options), options), images: imageService() };
}
