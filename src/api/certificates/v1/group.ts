// The kind CertificateSigningRequest.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { humanDuration } from '../../../apimachinery/human-duration.ts';
import { num, objs, spec, status, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';

function condition(csr: JsonObject): string {
  const has = (type: string): boolean => objs(status(csr)['conditions']).some((c) => c['type'] === type);
  const words = has('Denied') ? ['Denied'] : has('Approved') ? ['Approved'] : ['Pending'];
  if (has('Failed')) words.push('Failed');
  if (str(status(csr)['certificate']) !== '') words.push('Issued');
  return words.join(',');
}

export const certificatesV1: GroupBehaviours = {
  certificatesigningrequests: {
    row: (o, now) => [
      nameCell(o),
      ageCell(o, now),
      orNone(str(spec(o)['signerName'])),
      str(spec(o)['username']),
      spec(o)['expirationSeconds'] === undefined
        ? '<none>'
        : humanDuration(num(spec(o)['expirationSeconds']) * 1000),
      condition(o),
    ],
    selectableFields: (o) => ({ 'spec.signerName': str(spec(o)['signerName']) }),
  },
};
