// PodResizeValidator: a pod is not resized beyond what its node has, and only on Linux.
import { podRequestAmounts } from '../../api/core/v1/pod-resources.ts';
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { forbidden, StatusError } from '../../apimachinery/errors.ts';
import { milliValue, type Quantity, quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { hasNewSpec, requested } from './request/typed-request.ts';

const compared: readonly (readonly ['cpu' | 'memory', (quantity: Quantity) => number])[] = [
  ['cpu', milliValue],
  ['memory', quantityValue],
];

function tooMuch(pod: Pod, node: Node): string {
  const wanted = podRequestAmounts(pod);
  const allocatable = node.status?.allocatable ?? {};
  return compared
    .flatMap(([name, amount]) => {
      const there = tryParseQuantity(allocatable[name]);
      const [requested, has] = [wanted.get(name), there].map((q) => (q === undefined ? 0 : amount(q)));
      return requested! > has! ? [`${name}, requested: ${requested}, allocatable: ${has}`] : [];
    })
    .join('; ');
}

/** With a cause, by which an autoscaler knows that the pod must move. */
function refusal(request: AdmissionRequest, why: string, cause: string): StatusError {
  const { code, reason, message, status } = forbidden(request.declaration, request.name, why);
  return new StatusError(code, reason, message, { ...status.details, causes: [{ reason: cause }] });
}

export function createPodResizeValidator(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    operations: ['UPDATE'],
    validate(request) {
      const pod = requested(request, pods, 'resize');
      const nodeName = pod?.spec?.nodeName ?? '';
      if (pod === undefined || nodeName === '' || !hasNewSpec(request)) return;
      const node = live.get(nodes, nodeName);
      if (node === undefined)
        throw forbidden(request.declaration, request.name, `node ${JSON.stringify(nodeName)} not found`);
      const missing = tooMuch(pod, node);
      if (missing !== '')
        throw refusal(request, `Node didn't have enough allocatable resources: ${missing}`, 'NodeCapacity');
      const system = node.metadata?.labels?.['kubernetes.io/os'] ?? '';
      if (system !== 'linux')
        throw refusal(
          request,
          `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(system)}`,
          'UnsupportedPlatform',
        );
    },
  };
}
