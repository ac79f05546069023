// The kind Pod: what field selectors may name and how a pod is deleted.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { obj, objs, spec, status, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { isInt64 } from '../../../apimachinery/serializer/json-numbers.ts';
import { podDefaults } from './pod-defaults.ts';
import { podQosClass } from './pod-qos.ts';
import { podRow } from './pod-row.ts';
import { preparePodUpdate } from './pod-subresources.ts';
import { podWarnings } from './pod-warnings.ts';
import { validatePodCreate, validatePodUpdate } from './validate-pod.ts';

function selectableFields(pod: JsonObject): Record<string, string> {
  const podSpec = spec(pod);
  const podStatus = status(pod);
  return {
    'spec.nodeName': str(podSpec['nodeName']),
    'spec.restartPolicy': str(podSpec['restartPolicy']),
    'spec.schedulerName': str(podSpec['schedulerName']),
    'spec.serviceAccountName': str(podSpec['serviceAccountName']),
    'spec.hostNetwork': String(podSpec['hostNetwork'] === true),
    'status.phase': str(podStatus['phase']),
    'status.podIP': str(podStatus['podIP']) || str(objs(podStatus['podIPs'])[0]?.['ip']),
    'status.nominatedNodeName': str(podStatus['nominatedNodeName']),
  };
}

/** As upstream's CheckGracefulDelete: nothing runs where there is no node or all is over. */
function gracePeriodSeconds(pod: JsonObject, requested: number | bigint | undefined): number | bigint {
  const own = spec(pod)['terminationGracePeriodSeconds'];
  let seconds = requested ?? (isInt64(own) ? own : 0);
  if (str(spec(pod)['nodeName']) === '') seconds = 0;
  const phase = str(status(pod)['phase']);
  if (phase === 'Failed' || phase === 'Succeeded') seconds = 0;
  return seconds < 0 ? 1 : seconds;
}

/** The class of service, worked out once on create. */
function prepareForCreate(pod: JsonObject): void {
  pod['status'] = { phase: 'Pending', qosClass: podQosClass(pod) };
  if (objs(spec(pod)['schedulingGates']).length > 0)
    obj(pod['status'])['conditions'] = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
}

export const pod: KindBehaviour = {
  row: podRow,
  selectableFields,
  hasGeneration: true,
  ownUpdateRules: true,
  strategy: {
    applyDefaults: podDefaults,
    prepareForCreate,
    prepareForUpdate: preparePodUpdate,
    // As upstream, which writes a binding past the strategy: a pod is bound in its first generation.
    uncountedSubresources: ['binding'],
    warnings: podWarnings,
    validate: validatePodCreate,
    validateUpdate: (pod, old, { subresource }) => validatePodUpdate(pod, old, subresource),
    gracePeriodSeconds,
    defaultGarbageCollection: 'background',
  },
};
