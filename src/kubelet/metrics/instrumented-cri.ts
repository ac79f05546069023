// Counts and times what the kubelet asks the runtime for (upstream: kuberuntime/instrumented_services).
import type { Clock } from '../../base/clock.ts';
import { defaultBuckets, exponentialBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { Cri, ImageService, RuntimeService } from '../../rpc-api/cri.ts';
import type { ContainerConfig } from '../../rpc-api/generated/cri-v1.ts';

/** Upstream's names of operations. */
const runtimeOperations: Readonly<Record<Exclude<keyof RuntimeService, 'containerEvents'>, string>> = {
  version: 'version',
  status: 'status',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  updateContainerResources: 'update_container',
  listContainers: 'list_containers',
  containerStatus: 'container_status',
  reopenContainerLog: 'reopen_container_log',
  execSync: 'exec_sync',
  exec: 'exec',
  attach: 'attach',
  portForward: 'port_forward',
  listContainerStats: 'list_container_stats',
  listPodSandboxStats: 'list_podsandbox_stats',
  updateRuntimeConfig: 'update_runtime_config',
};
const imageOperations: Readonly<Record<keyof ImageService, string>> = {
  listImages: 'list_images',
  imageStatus: 'image_status',
  imageStatusVerbose: 'image_status',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
};

/** From 5 ms, each 2.5 times the one before. */
const operationBuckets = exponentialBuckets(0.005, 2.5, 14);

export type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

export interface InstrumentationDeps {
  readonly metrics: Pick<MetricsRegistry, 'counter' | 'histogram'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly typeOf: (config: ContainerConfig) => ContainerType;
}

type Asked = (operation: string, seconds: number, failed: boolean) => void;

function counted<Service extends object>(
  service: Service,
  operations: Readonly<Record<string, string>>,
  clock: InstrumentationDeps['clock'],
  asked: Asked,
): Service {
  const methods = Object.entries(operations).map(([name, operation]) => {
    const method = service[name as keyof Service] as (...args: unknown[]) => Promise<unknown>;
    const call = async (...args: unknown[]): Promise<unknown> => {
      const began = clock.monotonic();
      let failed = true;
      try {
        const answer = await method(...args);
        failed = false;
        return answer;
      } finally {
        asked(operation, (clock.monotonic() - began) / 1000, failed);
      }
    };
    return [name, call];
  });
  return { ...service, ...Object.fromEntries(methods) };
}

function operationsCounter({ metrics }: InstrumentationDeps): Asked {
  const labels = ['operation_type'];
  const total = metrics.counter(
    'kubelet_runtime_operations_total',
    'Cumulative number of runtime operations by operation type.',
    labels,
  );
  const errors = metrics.counter(
    'kubelet_runtime_operations_errors_total',
    'Cumulative number of runtime operation errors by operation type.',
    labels,
  );
  const duration = metrics.histogram(
    'kubelet_runtime_operations_duration_seconds',
    'Duration in seconds of runtime operations. Broken down by operation type.',
    labels,
    operationBuckets,
  );
  return (operation_type, seconds, failed) => {
    total.inc({ operation_type });
    duration.observe({ operation_type }, seconds);
    if (failed) errors.inc({ operation_type });
  };
}

/** Pods and containers that are begun, as upstream counts them. */
function startsCounter(runtime: RuntimeService, { metrics, clock, typeOf }: InstrumentationDeps) {
  const pods = metrics.counter('kubelet_started_pods_total', 'Cumulative number of pods started', []);
  const podErrors = metrics.counter(
    'kubelet_started_pods_errors_total',
    'Cumulative number of errors when starting pods',
    [],
  );
  const containers = metrics.counter(
    'kubelet_started_containers_total',
    'Cumulative number of containers started',
    ['container_type'],
  );
  const handler = ['runtime_handler'];
  const duration = metrics.histogram(
    'kubelet_run_podsandbox_duration_seconds',
    'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
    handler,
    defaultBuckets,
  );
  const errors = metrics.counter(
    'kubelet_run_podsandbox_errors_total',
    'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
    handler,
  );
  const runPodSandbox: RuntimeService['runPodSandbox'] = async (...args) => {
    const [, runtime_handler] = args;
    const began = clock.monotonic();
    pods.inc({});
    try {
      return await runtime.runPodSandbox(...args);
    } catch (error) {
      podErrors.inc({});
      errors.inc({ runtime_handler });
      throw error;
    } finally {
      duration.observe({ runtime_handler }, (clock.monotonic() - began) / 1000);
    }
  };
  const createContainer: RuntimeService['createContainer'] = (...args) => {
    containers.inc({ container_type: typeOf(args[1]) });
    return runtime.createContainer(...args);
  };
  return { runPodSandbox, createContainer };
}

export function instrumentedCri({ runtime, images }: Cri, deps: InstrumentationDeps): Cri {
  const asked = operationsCounter(deps);
  const starts = startsCounter(runtime, deps);
  return {
    runtime: counted({ ...runtime, ...starts }, runtimeOperations, deps.clock, asked),
    images: counted(images, imageOperations, deps.clock, asked),
  };
}
