// The kind Pod: what field selectors may name and how a pod is deleted.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { Pod, PodStatus } from '../../generated/types/core-v1.ts';
import { podDefaults } from './pod-defaults.ts';
import { podQosClass } from './pod-qos.ts';
import { podRow } from './pod-row.ts';
import { preparePodUpdate } from './pod-subresources.ts';
import { podWarnings } from './pod-warnings.ts';
import { validatePodCreate, validatePodUpdate } from './validate-pod.ts';

function selectableFields(pod: Decoded<Pod>): Record<string, string> {
  const podSpec = pod.spec ?? {};
  const podStatus = pod.status ?? {};
  return {
    'spec.nodeName': podSpec.nodeName ?? '',
    'spec.restartPolicy': podSpec.restartPolicy ?? '',
    'spec.schedulerName': podSpec.schedulerName ?? '',
    'spec.serviceAccountName': podSpec.serviceAccountName ?? '',
    'spec.hostNetwork': String(podSpec.hostNetwork === true),
    'status.phase': podStatus.phase ?? '',
    'status.podIP': (podStatus.podIP ?? '') || ((podStatus.podIPs ?? [])[0]?.ip ?? ''),
    'status.nominatedNodeName': podStatus.nominatedNodeName ?? '',
  };
}

/** As upstream's CheckGracefulDelete: nothing runs where there is no node or all is over. */
function gracePeriodSeconds(pod: Decoded<Pod>, requested: number | bigint | undefined): number | bigint {
  const own = pod.spec?.terminationGracePeriodSeconds;
  let seconds = requested ?? own ?? 0;
  if (!pod.spec?.nodeName) seconds = 0;
  const phase = pod.status?.phase;
  if (phase === 'Failed' || phase === 'Succeeded') seconds = 0;
  return seconds < 0 ? 1 : seconds;
}

/** The class of service, worked out once on create. */
function prepareForCreate(pod: Decoded<Pod>): void {
  const status: Decoded<PodStatus> = { phase: 'Pending', qosClass: podQosClass(pod) };
  pod.status = status;
  if (pod.spec?.schedulingGates?.length)
    status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
}

export const pod: KindBehaviour<Pod> = {
  row: podRow,
  selectableFields,
  hasGeneration: true,
  ownUpdateRules: true,
  strategy: {
    applyDefaults: podDefaults,
    prepareForCreate,
    prepareForUpdate: preparePodUpdate,
    // Kubelets of old lost owners there.
    keptByStatus: ['deletionTimestamp', 'ownerReferences'],
    // As upstream, which writes a binding past the strategy: a pod is bound in its first generation.
    uncountedSubresources: ['binding'],
    warnings: podWarnings,
    validate: validatePodCreate,
    validateUpdate: (pod, old, { subresource }) => validatePodUpdate(pod, old, subresource),
    gracePeriodSeconds,
    defaultGarbageCollection: 'background',
  },
};
