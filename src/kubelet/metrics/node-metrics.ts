// What runs on the node, counted when somebody asks.
import type { Labels, MetricsRegistry } from '../../component-base/metrics.ts';
import type { ObservedContainer, ObservedPod } from '../observed-pod.ts';

const states: readonly ObservedContainer['state'][] = ['created', 'exited', 'running', 'unknown'];

export function showNode(
  metrics: Pick<MetricsRegistry, 'readGauge'>,
  nodeName: string,
  observed: () => readonly ObservedPod[],
): void {
  metrics.readGauge('kubelet_node_name', "The node's name. The count is always 1.", ['node'], () => [
    [{ node: nodeName }, 1],
  ]);
  metrics.readGauge('kubelet_running_pods', 'Number of pods that have a running pod sandbox', [], () => [
    [{}, observed().filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length],
  ]);
  metrics.readGauge(
    'kubelet_running_containers',
    'Number of containers currently running',
    ['container_state'],
    () => {
      const containers = observed().flatMap((pod) => pod.containers);
      return states.map((state): [Labels, number] => [
        { container_state: state },
        containers.filter((container) => container.state === state).length,
      ]);
    },
  );
}
