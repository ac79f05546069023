// The kind CertificateSigningRequest.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { humanDuration } from '../../../apimachinery/human-duration.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { repeated } from '../../../apimachinery/validation/checks.ts';
import { pathSegment } from '../../../apimachinery/validation/names.ts';
import type { CertificateSigningRequest } from '../../generated/types/certificates-v1.ts';
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

function condition(csr: Decoded<CertificateSigningRequest>): string {
  const has = (type: string): boolean => (csr.status?.conditions ?? []).some((c) => c.type === type);
  const words = has('Denied') ? ['Denied'] : has('Approved') ? ['Approved'] : ['Pending'];
  if (has('Failed')) words.push('Failed');
  if (csr.status?.certificate) words.push('Issued');
  return words.join(',');
}

/** The approval subresource writes conditions and nothing else of the status. */
function keepAllButConditions(
  o: Decoded<CertificateSigningRequest>,
  old: Decoded<CertificateSigningRequest>,
): void {
  const conditions = o.status?.conditions;
  const { conditions: _, ...kept } = old.status ?? {};
  o.status = conditions === undefined ? kept : { ...kept, conditions };
}

/** Times that the client left out; a transition is a change of the condition's status. */
function stampConditions(
  o: Decoded<CertificateSigningRequest>,
  old: Decoded<CertificateSigningRequest>,
  now: string,
): void {
  const before = old.status?.conditions ?? [];
  for (const next of o.status?.conditions ?? []) {
    const was = before.find((c) => c.type === next.type);
    if (next.lastUpdateTime === undefined) next.lastUpdateTime = now;
    if (next.lastTransitionTime === undefined)
      next.lastTransitionTime =
        was !== undefined && was.status === next.status ? (was.lastTransitionTime ?? now) : now;
  }
}

export const certificatesV1: GroupBehaviours<{ certificatesigningrequests: CertificateSigningRequest }> = {
  certificatesigningrequests: {
    row: (o, now) => [
      nameCell(o),
      ageCell(o, now),
      orNone(o.spec?.signerName ?? ''),
      o.spec?.username ?? '',
      o.spec?.expirationSeconds === undefined
        ? '<none>'
        : humanDuration((o.spec?.expirationSeconds ?? 0) * 1000),
      condition(o),
    ],
    strategy: {
      validate(o) {
        const usages = o.spec?.usages ?? [];
        const errors = usages.length === 0 ? [required('spec.usages')] : [];
        for (const [i, usage] of usages.entries())
          if (!knownUsages.includes(usage))
            errors.push(notSupported(`spec.usages[${i}]`, usage, knownUsages));
        for (const i of repeated(usages)) errors.push(duplicate(`spec.usages[${i}]`, usages[i]!));
        const signer = o.spec?.signerName ?? '';
        if (signer === 'kubernetes.io/legacy-unknown')
          errors.push(
            invalid('spec.signerName', signer, 'the legacy signerName is not allowed via this API version'),
          );
        else errors.push(...signerNameErrors('spec.signerName', signer));
        const seconds = o.spec?.expirationSeconds;
        if (seconds !== undefined && (seconds ?? 0) < 600)
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
        const { username, uid, groups, extra, ...asked } = o.spec ?? {};
        if (user === undefined) return;
        o.spec = {
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
        o.spec = old.spec ?? {};
        if (subresource === 'approval') keepAllButConditions(o, old);
        if (subresource !== '') stampConditions(o, old, now);
      },
      validateUpdate: (o, old, { subresource }) => validateRequestUpdate(o, old, subresource),
    },
    nameRule: pathSegment,
    selectableFields: (o) => ({ 'spec.signerName': o.spec?.signerName ?? '' }),
  },
};
