// The kinds of flowcontrol.apiserver.k8s.io/v1.
import {
  ensure,
  isObject,
  num,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { validateFlowSchema } from './validate-flow-schema.ts';
import { validatePriorityLevel } from './validate-priority-level.ts';

export const flowcontrolV1: GroupBehaviours = {
  flowschemas: {
    hasGeneration: true,
    row: (o, now) => {
      const dangling = objs(status(o)['conditions']).find((c) => c['type'] === 'Dangling');
      return [
        nameCell(o),
        str(obj(spec(o)['priorityLevelConfiguration'])['name']),
        num(spec(o)['matchingPrecedence']),
        orNone(str(obj(spec(o)['distinguisherMethod'])['type'])),
        ageCell(o, now),
        str(dangling?.['status']) || '?',
      ];
    },
    strategy: {
      applyDefaults(o) {
        const s = ensure(o, 'spec');
        if (num(s['matchingPrecedence']) === 0) s['matchingPrecedence'] = 1000;
      },
      validate: validateFlowSchema,
    },
  },
  prioritylevelconfigurations: {
    hasGeneration: true,
    row: (o, now) => {
      const limited = obj(spec(o)['limited']);
      const queuing = obj(limited['limitResponse'])['queuing'];
      const shares = obj(spec(o)[spec(o)['type'] === 'Exempt' ? 'exempt' : 'limited'])[
        'nominalConcurrencyShares'
      ];
      const cell = (name: string): string | number => (isObject(queuing) ? num(queuing[name]) : '<none>');
      return [
        nameCell(o),
        str(spec(o)['type']),
        shares === undefined ? '<none>' : num(shares),
        cell('queues'),
        cell('handSize'),
        cell('queueLengthLimit'),
        ageCell(o, now),
      ];
    },
    strategy: {
      applyDefaults(o) {
        const s = spec(o);
        if (isObject(s['exempt'])) {
          setDefault(s['exempt'], 'nominalConcurrencyShares', 0);
          setDefault(s['exempt'], 'lendablePercent', 0);
        }
        const limited = s['limited'];
        if (!isObject(limited)) return;
        setDefault(limited, 'nominalConcurrencyShares', 30);
        setDefault(limited, 'lendablePercent', 0);
        const queuing = obj(limited['limitResponse'])['queuing'];
        if (!isObject(queuing)) return;
        if (num(queuing['queues']) === 0) queuing['queues'] = 64;
        if (num(queuing['handSize']) === 0) queuing['handSize'] = 8;
        if (num(queuing['queueLengthLimit']) === 0) queuing['queueLengthLimit'] = 50;
      },
      validate: validatePriorityLevel,
    },
  },
};
