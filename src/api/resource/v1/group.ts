// The kinds of resource.k8s.io/v1: devices and claims on them.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import {
  isObject,
  meta,
  num,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

function claimState(claim: JsonObject): string {
  const words: string[] = [];
  if (meta(claim)['deletionTimestamp'] !== undefined) words.push('deleted');
  if (status(claim)['allocation'] === undefined) {
    if (meta(claim)['deletionTimestamp'] === undefined) words.push('pending');
  } else {
    words.push('allocated');
    if (objs(status(claim)['reservedFor']).length > 0) words.push('reserved');
  }
  return words.join(',');
}

function requestDefaults(claimSpec: JsonObject): void {
  for (const request of objs(obj(claimSpec['devices'])['requests']))
    for (const one of [
      ...(isObject(request['exactly']) ? [request['exactly']] : []),
      ...objs(request['firstAvailable']),
    ]) {
      if (str(one['allocationMode']) === '') one['allocationMode'] = 'ExactCount';
      if (one['allocationMode'] === 'ExactCount' && num(one['count']) === 0) one['count'] = 1;
      for (const toleration of objs(one['tolerations'])) setDefault(toleration, 'operator', 'Equal');
    }
}

export const resourceV1: GroupBehaviours = {
  deviceclasses: { hasGeneration: true },
  resourceclaims: {
    row: (o, now) => [nameCell(o), claimState(o), ageCell(o, now)],
    strategy: { applyDefaults: (o) => requestDefaults(spec(o)) },
  },
  resourceclaimtemplates: { strategy: { applyDefaults: (o) => requestDefaults(obj(spec(o)['spec'])) } },
  resourceslices: {
    hasGeneration: true,
    row: (o, now) => [
      nameCell(o),
      str(spec(o)['nodeName']),
      str(spec(o)['driver']),
      str(obj(spec(o)['pool'])['name']),
      ageCell(o, now),
    ],
    selectableFields: (o) => ({
      'spec.nodeName': str(spec(o)['nodeName']),
      'spec.driver': str(spec(o)['driver']),
    }),
  },
};
