// The kinds of flowcontrol.apiserver.k8s.io/v1.
import { ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../generated/types/flowcontrol-v1.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateFlowSchema } from './validate-flow-schema.ts';
import { validatePriorityLevel } from './validate-priority-level.ts';

export const flowcontrolV1: GroupBehaviours<{
  flowschemas: FlowSchema;
  prioritylevelconfigurations: PriorityLevelConfiguration;
}> = {
  flowschemas: {
    hasGeneration: true,
    row: (o, now) => {
      const dangling = (o.status?.conditions ?? []).find((c) => c.type === 'Dangling');
      return [
        nameCell(o),
        o.spec?.priorityLevelConfiguration?.name ?? '',
        o.spec?.matchingPrecedence ?? 0,
        orNone(o.spec?.distinguisherMethod?.type ?? ''),
        ageCell(o, now),
        (dangling?.status ?? '') || '?',
      ];
    },
    strategy: {
      applyDefaults(o) {
        const s = ensured(o, 'spec');
        if ((s.matchingPrecedence ?? 0) === 0) s.matchingPrecedence = 1000;
      },
      validate: validateFlowSchema,
    },
  },
  prioritylevelconfigurations: {
    hasGeneration: true,
    row: (o, now) => {
      const limited = o.spec?.limited ?? {};
      const queuing = limited.limitResponse?.queuing;
      const shares = (o.spec?.type === 'Exempt' ? o.spec.exempt : o.spec?.limited)?.nominalConcurrencyShares;
      const cell = (name: 'queues' | 'handSize' | 'queueLengthLimit'): string | number =>
        queuing !== undefined ? (queuing[name] ?? 0) : '<none>';
      return [
        nameCell(o),
        o.spec?.type ?? '',
        shares ?? '<none>',
        cell('queues'),
        cell('handSize'),
        cell('queueLengthLimit'),
        ageCell(o, now),
      ];
    },
    strategy: {
      applyDefaults(o) {
        const s = o.spec ?? {};
        if (s.exempt !== undefined) {
          s.exempt.nominalConcurrencyShares ??= 0;
          s.exempt.lendablePercent ??= 0;
        }
        const limited = s.limited;
        if (limited === undefined) return;
        limited.nominalConcurrencyShares ??= 30;
        limited.lendablePercent ??= 0;
        const queuing = limited.limitResponse?.queuing;
        if (queuing === undefined) return;
        if ((queuing.queues ?? 0) === 0) queuing.queues = 64;
        if ((queuing.handSize ?? 0) === 0) queuing.handSize = 8;
        if ((queuing.queueLengthLimit ?? 0) === 0) queuing.queueLengthLimit = 50;
      },
      validate: validatePriorityLevel,
    },
  },
};
