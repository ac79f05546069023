// The kinds of flowcontrol.apiserver.k8s.io/v1.
import type { StrategyContext } from '../../../apimachinery/declaration.ts';
import { ensured } from '../../../apimachinery/decoded.ts';
import { duplicate, required } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { type Errors, repeated } from '../../../apimachinery/validation/checks.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../generated/types/flowcontrol-v1.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateFlowSchema } from './validate-flow-schema.ts';
import { validatePriorityLevel } from './validate-priority-level.ts';

interface WithConditions {
  readonly status?:
    | { readonly conditions?: readonly { readonly type?: string | undefined }[] | undefined }
    | undefined;
}

/** Conditions are told apart by their types. */
function statusErrors({ status }: WithConditions, _old: object, { subresource }: StrategyContext): Errors {
  const types = subresource === 'status' ? (status?.conditions ?? []).map(({ type = '' }) => type) : [];
  const again = repeated(types);
  return types.flatMap((type, i) => {
    const field = `status.conditions[${i}].type`;
    return [
      ...(again.has(i) ? [duplicate(field, type)] : []),
      ...(type === '' ? [required(field, 'must not be empty')] : []),
    ];
  });
}

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
      validateUpdate: statusErrors,
      keptByStatus: 'all',
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
      validateUpdate: statusErrors,
      keptByStatus: 'all',
    },
  },
};
