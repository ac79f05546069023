// LimitPodHardAntiAffinityTopology: pods keep others away from a node, not from a zone.
import { pods } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { refuse } from './request/refuse.ts';
import { requested } from './request/typed-request.ts';

const hostname = 'kubernetes.io/hostname';

export function createLimitPodHardAntiAffinityTopology(): AdmissionPlugin {
  return {
    name: 'LimitPodHardAntiAffinityTopology',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const required = requested(request, pods)?.spec?.affinity?.podAntiAffinity
        ?.requiredDuringSchedulingIgnoredDuringExecution;
      for (const { topologyKey } of required ?? [])
        if (topologyKey !== hostname)
          refuse(
            request,
            `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${topologyKey} but only key ${hostname} is allowed`,
          );
    },
  };
}
