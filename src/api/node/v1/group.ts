// The kind RuntimeClass.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { named, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { endedNodeLabel } from '../../core/v1/node-label-warnings.ts';
import type { RuntimeClass } from '../../generated/types/node-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

export const nodeV1: GroupBehaviours<{ runtimeclasses: RuntimeClass }> = {
  runtimeclasses: {
    strategy: {
      validate: (o) => named('handler', o.handler, dnsLabel),
      validateUpdate: (o, old) => unchanged('handler', o.handler, old.handler),
      warnings: ({ scheduling = {} }) =>
        Object.keys(scheduling.nodeSelector ?? {}).flatMap((key) => {
          const word = endedNodeLabel(key);
          return word === undefined ? [] : [`scheduling.nodeSelector: ${word}`];
        }),
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: false,
    },
    row: (o, now) => [nameCell(o), o.handler ?? '', ageCell(o, now)],
  },
};
