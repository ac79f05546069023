// The kind CertificateSigningRequest.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { duplicate, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { humanDuration } from '../../../apimachinery/human-duration.ts';
import { num, objs, spec, status, str, strs } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
import { ageCell, nameCell, orNone } from '../../meta/row-cells.ts';
import { signerNameErrors } from './signer-name.ts';
import { validateRequestUpdate } from './validate-request.ts';

const knownUsages: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

function condition(csr: JsonObject): string {
  const has = (type: string): boolean => objs(status(csr)['conditions']).some((c) => c['type'] === type);
  const words = has('Denied') ? ['Denied'] : has('Approved') ? ['Approved'] : ['Pending'];
  if (has('Failed')) words.push('Failed');
  if (str(status(csr)['certificate']) !== '') words.push('Issued');
  return words.join(',');
}

/** The approval subresource writes conditions and nothing else of the status. */
function keepAllBut(o: JsonObject, old: JsonObject, field: string): void {
  const written = status(o)[field];
  const { [field]: _, ...kept } = status(old);
  o['status'] = { ...kept, ...(written === undefined ? {} : { [field]: written }) };
}

/** Times that the client left out; a transition is a change of the condition's status. */
function stampConditions(o: JsonObject, old: JsonObject, now: string): void {
  const before = objs(status(old)['conditions']);
  for (const next of objs(status(o)['conditions'])) {
    const was = before.find((c) => c['type'] === next['type']);
    if (next['lastUpdateTime'] === undefined) next['lastUpdateTime'] = now;
    if (next['lastTransitionTime'] === undefined)
      next['lastTransitionTime'] =
        was !== undefined && was['status'] === next['status'] ? (was['lastTransitionTime'] ?? now) : now;
  }
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
        const errors = usages.length === 0 ? [required('spec.usages')] : [];
        for (const [i, usage] of usages.entries())
          if (!knownUsages.includes(usage))
            errors.push(notSupported(`spec.usages[${i}]`, usage, knownUsages));
        for (const [i, usage] of usages.entries())
          if (usages.indexOf(usage) < i) errors.push(duplicate(`spec.usages[${i}]`, usage));
        const signer = str(spec(o)['signerName']);
        if (signer === 'kubernetes.io/legacy-unknown')
          errors.push(
            invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
          );
        else errors.push(...signerNameErrors('spec.signerName', signer));
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
      // Who asks is what the server knows, never what the client says.
      prepareForCreate(o, { user }) {
        const { username, uid, groups, extra, ...asked } = spec(o);
        if (user === undefined) return;
        o['spec'] = {
          ...asked,
          groups: [...user.groups],
          username: user.name,
          ...(user.uid ? { uid: user.uid } : {}),
          ...(user.extra === undefined || Object.keys(user.extra).length === 0
            ? {}
            : { extra: Object.fromEntries(Object.entries(user.extra).map(([k, v]) => [k, [...v]])) }),
        };
      },
      prepareForUpdate(o, old, { now, subresource }) {
        o['spec'] = old['spec'] ?? {};
        if (subresource === 'approval') keepAllBut(o, old, 'conditions');
        if (subresource !== '') stampConditions(o, old, now);
      },
      validateUpdate: (o, old, { subresource }) => validateRequestUpdate(o, old, subresource),
    },
    nameRule: pathSegment,
    selectableFields: (o) => ({ 'spec.signerName': str(spec(o)['signerName']) }),
  },
};
