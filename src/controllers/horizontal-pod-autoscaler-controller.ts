// Sets how many replicas a target has, by what its pods use or what others measure: upstream's horizontal pod autoscaler.
import { horizontalpodautoscalersV2, pods, podsMetricsK8sIo } from '../api/generated/resources.ts';
import { anything, may, mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { Autoscaling } from './podautoscaler/autoscaling.ts';
import type { AutoscalerSettings } from './podautoscaler/decide.ts';
import { customMetrics, externalMetrics } from './podautoscaler/measure-metrics.ts';

export function horizontalPodAutoscalerController(settings: AutoscalerSettings): Controller {
  let autoscaling: Autoscaling | undefined;
  return defineController({
    name: 'horizontal-pod-autoscaler-controller',
    component: 'horizontal-pod-autoscaler',
    queue: 'horizontalpodautoscaler',
    serviceAccount: 'horizontal-pod-autoscaler',
    for: horizontalpodautoscalersV2,
    reads: [pods],
    access: [
      may('update', horizontalpodautoscalersV2, 'status'),
      may(['get', 'update'], anything, 'scale'),
      may('list', podsMetricsK8sIo),
      may(['get', 'list'], { group: customMetrics, resource: '*' }),
      may(['get', 'list'], { group: externalMetrics, resource: '*' }),
      mayRecordEvents,
    ],
    concurrency: settings.concurrency,
    start(context) {
      autoscaling = new Autoscaling(context, settings);
      return () => autoscaling?.close();
    },
    reconcile: async (key) => autoscaling?.look(key),
  });
}
