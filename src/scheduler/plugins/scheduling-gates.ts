// SchedulingGates: a gated pod waits outside the queue until its gates are gone.
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/status.ts';

export const schedulingGates: Plugin = {
  name: 'SchedulingGates',
  requeueOn: [
    {
      on: ['UnschedulablePodUpdatePodSchedulingGatesEliminated'],
      helps: ({ spec }) => (spec.schedulingGates ?? []).length === 0,
    },
  ],
  preEnqueue: (pod) => {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    return unresolvable(`waiting for scheduling gates: [${gates.map((gate) => gate.name).join(' ')}]`);
  },
};
