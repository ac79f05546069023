// NodeDeclaredFeatureValidator: a bound pod is not changed into one that its node does not say it can run.
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Json } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { hasNewSpec, previous, requested } from './request/typed-request.ts';

const same = (a: unknown, b: unknown): boolean =>
  a === undefined || b === undefined ? a === b : jsonEqual(a as Json, b as Json);

/** The features that the change needs; those that only placing a pod needs are the scheduler's. */
function neededFor(pod: Pod, old: Pod): string[] {
  const needed: string[] = [];
  if (!same(pod.spec.resources, old.spec.resources)) needed.push('InPlacePodLevelResourcesVerticalScaling');
  const changed = (old.spec.initContainers ?? []).some(
    (container, i) =>
      container.restartPolicy !== 'Always' &&
      !same(container.resources, pod.spec.initContainers?.[i]?.resources),
  );
  if (changed) needed.push('InPlacePodVerticalScalingInitContainers');
  return needed;
}

export function createNodeDeclaredFeatureValidator(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'NodeDeclaredFeatureValidator',
    operations: ['UPDATE'],
    validate(request) {
      const pod = requested(request, pods) ?? requested(request, pods, 'resize');
      const old = pod && previous(request, pods);
      const nodeName = pod?.spec?.nodeName ?? '';
      if (old === undefined || pod === undefined || nodeName === '' || !hasNewSpec(request)) return;
      const needed = neededFor(pod, old);
      if (needed.length === 0) return;
      const node = live.get(nodes, nodeName);
      if (node === undefined)
        throw forbidden(request.declaration, request.name, `node ${JSON.stringify(nodeName)} not found`);
      const missing = needed.filter((feature) => !node.status?.declaredFeatures?.includes(feature));
      if (missing.length > 0)
        throw forbidden(
          request.declaration,
          request.name,
          `pod update requires features ${missing.join(', ')} which are not available on node ${JSON.stringify(nodeName)}`,
        );
    },
  };
}
