// What one kubelet tells of itself, by upstream's names: /metrics and /metrics/probes of its server. What it tells of its pods is read when it is asked for.
import type { Clock } from '../../base/clock.ts';
import { type CounterMetric, createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { Cri } from '../../rpc-api/cri.ts';
import type { ContainerConfig } from '../../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodUid } from '../pod-format.ts';
import type { PodWorkers } from '../pod-workers.ts';
import { type ContainerType, instrumentedCri } from './instrumented-cri.ts';
import { showNode } from './node-metrics.ts';
import { PassDurations } from './pass-durations.ts';
import { PodStarts } from './pod-starts.ts';
import { type ProbeMetrics, probeMetrics } from './probe-metrics.ts';
import { PullDurations } from './pull-durations.ts';
import { type VolumeMetrics, volumeMetrics } from './volume-metrics.ts';

export interface KubeletMetrics {
  readonly node: MetricsRegistry;
  /** Apart, as there is a row for each probe of each container. */
  readonly probes: MetricsRegistry;
  /** The one that is counted. */
  readonly cri: Cri;
  readonly starts: PodStarts;
  readonly passes: PassDurations;
  readonly probe: ProbeMetrics;
  readonly pulls: PullDurations;
  readonly volumes: VolumeMetrics;
  /** By `eviction_signal`. */
  readonly evicted: CounterMetric;
}

export interface KubeletMetricsDeps {
  /** Default one of its own. */
  readonly node: MetricsRegistry | undefined;
  readonly cri: Cri;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly workers: () => Pick<PodWorkers, 'get' | 'list'> | undefined;
}

export function kubeletMetrics({
  cri,
  clock,
  nodeName,
  workers,
  ...given
}: KubeletMetricsDeps): KubeletMetrics {
  const node = given.node ?? createMetrics();
  const probes = createMetrics();
  const typeOf = ({ labels = {} }: ContainerConfig): ContainerType => {
    const spec = workers()?.get(labels[labelPodUid] ?? '')?.pod.spec;
    const isNamed = ({ name }: { readonly name: string }): boolean => name === labels[labelContainerName];
    if (spec?.initContainers?.some(isNamed)) return 'init_container';
    return spec?.ephemeralContainers?.some(isNamed) ? 'ephemeral_container' : 'container';
  };
  const workerList = () => workers()?.list() ?? [];
  showNode(node, nodeName, () => workerList().map(({ observed }) => observed));
  return {
    node,
    probes,
    cri: instrumentedCri(cri, { metrics: node, clock, typeOf }),
    starts: new PodStarts(node, clock),
    passes: new PassDurations(node, clock),
    probe: probeMetrics(probes),
    evicted: node.counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', [
      'eviction_signal',
    ]),
    pulls: new PullDurations(node),
    volumes: volumeMetrics(node, clock, () =>
      workerList()
        .filter((worker) => !worker.isTerminated)
        .map(({ pod }) => pod),
    ),
  };
}
