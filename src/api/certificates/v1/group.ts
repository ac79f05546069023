// The kind CertificateSigningRequest.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { humanDuration } from '../../../apimachinery/human-duration.ts';
import { num, objs, spec, status, str, strs } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
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
    strategy: {
      validate(o) {
        const usages = strs(spec(o)['usages']);
        const errors = usages.length === 0 ? [required('spec.usages', 'usages must be non-empty')] : [];
        const seconds = spec(o)['expirationSeconds'];
        if (seconds !== undefined && num(seconds) < 600)
          errors.push(
            invalid(
              'spec.expirationSeconds',
              seconds,
              'may not specify a duration less than 600 seconds (10 minutes)',
            ),
          );
        return errors;
      },
      prepareForUpdate(o, old) {
        o['spec'] = old['spec'] ?? {};
      },
    },
    nameRule: pathSegment,
    selectableFields: (o) => ({ 'spec.signerName': str(spec(o)['signerName']) }),
  },
};
