// The kind ResourceQuota: `cpu: 1/4, pods: 3/10`, requests and limits apart.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { ResourceQuota } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateResourceQuota } from './validate-small.ts';
import { validateQuotaStatus } from './validate-statuses.ts';

function usage(quota: Decoded<ResourceQuota>, limits: boolean): string {
  const hard = quota.status?.hard ?? {};
  const used = quota.status?.used ?? {};
  return Object.keys(hard)
    .sort()
    .filter((name) => name.startsWith('limits') === limits)
    .map((name) => `${name}: ${(used[name] ?? '') || '0'}/${hard[name] ?? ''}`)
    .join(', ');
}

export const resourceQuota: KindBehaviour<ResourceQuota> = {
  strategy: {
    validate: validateResourceQuota,
    validateUpdate: (o, _old, { subresource }) => (subresource === 'status' ? validateQuotaStatus(o) : []),
  },
  row: (o, now) => [nameCell(o), usage(o, false), usage(o, true), ageCell(o, now)],
};
