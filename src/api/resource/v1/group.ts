// The kinds of resource.k8s.io/v1: devices and claims on them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type {
  DeviceClass,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../generated/types/resource-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateResourceClaimStatus } from './validate-claim-status.ts';
import {
  claimStays,
  templateStays,
  validateDeviceClass,
  validateResourceClaim,
  validateResourceClaimTemplate,
} from './validate-claims.ts';
import { sliceStays, validateResourceSlice } from './validate-slices.ts';

function claimState(claim: Decoded<ResourceClaim>): string {
  const words: string[] = [];
  if (claim.metadata?.deletionTimestamp !== undefined) words.push('deleted');
  if (claim.status?.allocation === undefined) {
    if (claim.metadata?.deletionTimestamp === undefined) words.push('pending');
  } else {
    words.push('allocated');
    if ((claim.status?.reservedFor ?? []).length > 0) words.push('reserved');
  }
  return words.join(',');
}

function requestDefaults(claimSpec: Decoded<ResourceClaimSpec>): void {
  for (const request of claimSpec.devices?.requests ?? [])
    for (const one of [
      ...(request.exactly !== undefined ? [request.exactly] : []),
      ...(request.firstAvailable ?? []),
    ]) {
      if (!one.allocationMode) one.allocationMode = 'ExactCount';
      if (one.allocationMode === 'ExactCount' && (one.count ?? 0) === 0) one.count = 1;
      for (const toleration of one.tolerations ?? []) toleration.operator ??= 'Equal';
    }
}

export const resourceV1: GroupBehaviours<{
  deviceclasses: DeviceClass;
  resourceclaims: ResourceClaim;
  resourceclaimtemplates: ResourceClaimTemplate;
  resourceslices: ResourceSlice;
}> = {
  deviceclasses: { hasGeneration: true, strategy: { validate: validateDeviceClass } },
  resourceclaims: {
    row: (o, now) => [nameCell(o), claimState(o), ageCell(o, now)],
    ownUpdateRules: true,
    strategy: {
      applyDefaults: (o) => requestDefaults(o.spec ?? {}),
      validate: validateResourceClaim,
      validateUpdate: (o, old, { subresource }) =>
        subresource === 'status' ? validateResourceClaimStatus(o, old) : claimStays(o, old),
      keptByStatus: 'all',
    },
  },
  resourceclaimtemplates: {
    ownUpdateRules: true,
    strategy: {
      applyDefaults: (o) => requestDefaults(o.spec?.spec ?? {}),
      validate: validateResourceClaimTemplate,
      validateUpdate: templateStays,
    },
  },
  resourceslices: {
    hasGeneration: true,
    strategy: { validate: validateResourceSlice, validateUpdate: sliceStays },
    row: (o, now) => [
      nameCell(o),
      o.spec?.nodeName ?? '',
      o.spec?.driver ?? '',
      o.spec?.pool?.name ?? '',
      ageCell(o, now),
    ],
    selectableFields: (o) => ({
      'spec.nodeName': o.spec?.nodeName ?? '',
      'spec.driver': o.spec?.driver ?? '',
    }),
  },
};
