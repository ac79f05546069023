// Priority: the pod's class becomes its number, and there is one default class.
import { pods, priorityclasses } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PriorityClass } from '../../api/generated/types/scheduling-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { previous, requested } from './request/typed-request.ts';

export function createPriority(live: LiveObjects): AdmissionPlugin {
  const defaultClass = (): PriorityClass | undefined => {
    const defaults = live.list(priorityclasses).filter((c) => c.globalDefault === true);
    // As upstream: of several, the one of the lowest value.
    return defaults.sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
  };

  const admitPod = (request: AdmissionRequest, pod: Pod): void => {
    const spec = pod.spec;
    if (spec === undefined) return;
    if (request.operation === 'UPDATE') {
      const old = previous(request, pods)?.spec;
      if (spec.priority === undefined && old?.priority !== undefined) spec.priority = old.priority;
      if (spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined) {
        spec.preemptionPolicy = old.preemptionPolicy;
      }
      return;
    }
    const refuse = (why: string): never => {
      throw forbidden(request.declaration, request.name, why);
    };
    let found: PriorityClass | undefined;
    if ((spec.priorityClassName ?? '') === '') {
      found = defaultClass();
      if (found?.metadata?.name !== undefined) spec.priorityClassName = found.metadata.name;
    } else {
      found = live.get(priorityclasses, spec.priorityClassName ?? '');
      if (found === undefined) refuse(`no PriorityClass with name ${spec.priorityClassName} was found`);
    }
    const priority = found?.value ?? 0;
    if (spec.priority !== undefined && spec.priority !== priority) {
      refuse(
        `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
      );
    }
    spec.priority = priority;
    const policy = found?.preemptionPolicy ?? 'PreemptLowerPriority';
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
      refuse(
        `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
      );
    }
    spec.preemptionPolicy = policy;
  };

  return {
    name: 'Priority',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const pod = requested(request, pods);
      if (pod !== undefined) admitPod(request, pod);
    },
    validate(request) {
      const added = requested(request, priorityclasses);
      if (added?.globalDefault !== true) return;
      const other = defaultClass();
      if (other !== undefined && other.metadata?.name !== request.name) {
        throw forbidden(
          request.declaration,
          request.name,
          `PriorityClass ${other.metadata?.name} is already marked as default. Only one default can exist`,
        );
      }
    },
  };
}
