// PodTopologyLabels: a pod that is bound tells in its labels the zone and the region of its node.
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Binding } from '../../api/generated/types/core-v1.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { isAbout, requested } from './request/typed-request.ts';

const copied = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const;

interface Labelled {
  metadata?: { labels?: Record<string, string> | undefined } | undefined;
}

export function createPodTopologyLabels(live: LiveObjects): AdmissionPlugin {
  /** What is there already stays. A node that is not there has no labels. */
  const label = (object: Labelled, nodeName: string): void => {
    const labels = live.get(nodes, nodeName)?.metadata?.labels;
    if (labels === undefined) return;
    for (const key of copied) {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      if (value === undefined) continue;
      object.metadata ??= {};
      object.metadata.labels ??= {};
      if (!Object.hasOwn(object.metadata.labels, key)) object.metadata.labels[key] = value;
    }
  };
  return {
    name: 'PodTopologyLabels',
    operations: ['CREATE'],
    admit(request) {
      const pod = requested(request, pods);
      if (pod !== undefined) {
        const nodeName = pod.spec?.nodeName ?? '';
        if (nodeName !== '') label(pod as Labelled, nodeName);
      } else if (request.object !== undefined && isAbout(request, pods, 'binding')) {
        const binding = request.object as unknown as Binding;
        if (binding.target?.kind === 'Node') label(binding as Labelled, binding.target.name ?? '');
      }
    },
  };
}
