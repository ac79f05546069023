// The kind APIService: which server answers for a group and version.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { APIService } from '../../generated/types/apiregistration-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateApiService, validateApiServiceStatus } from './validate-apiservice.ts';

function available(service: Decoded<APIService>): string {
  const condition = (service.status?.conditions ?? []).find((c) => c.type === 'Available');
  if (!condition) return 'Unknown';
  const { status = '', reason = '' } = condition;
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}

export const apiregistrationV1: GroupBehaviours<{ apiservices: APIService }> = {
  apiservices: {
    // Of its version and group, which the rules of the kind compare it with.
    nameRule: () => [],
    row: (o, now) => {
      const service = o.spec?.service;
      return [
        nameCell(o),
        service !== undefined ? `${service.namespace ?? ''}/${service.name ?? ''}` : 'Local',
        available(o),
        ageCell(o, now),
      ];
    },
    strategy: {
      prepareForCreate(o, { now }) {
        if (o.spec?.service !== undefined) return;
        const message = 'Local APIServices are always available';
        const condition = { type: 'Available', status: 'True', reason: 'Local', message };
        o.status = { conditions: [{ ...condition, lastTransitionTime: now }] };
      },
      validate: validateApiService,
      validateUpdate: (o, _, { subresource }) =>
        subresource === 'status' ? validateApiServiceStatus(o) : [],
      keptByStatus: 'all',
      allowUnconditionalUpdate: false,
      applyDefaults(o) {
        const service = o.spec?.service;
        if (service !== undefined) service.port ??= 443;
      },
    },
  },
};
