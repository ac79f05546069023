// Who decides about a certificate request decides by `approval` only; who signs it writes the certificate, once.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { base64ToBytes } from '../../../apimachinery/serializer/protobuf/base64.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../generated/types/certificates-v1.ts';
import { certificateFault } from './certificate-content.ts';

const conditionsOf = (
  request: Decoded<CertificateSigningRequest>,
  type: string,
): Decoded<CertificateSigningRequestCondition[]> =>
  (request.status?.conditions ?? []).filter((c) => c.type === type);

function decisionErrors(
  request: Decoded<CertificateSigningRequest>,
  old: Decoded<CertificateSigningRequest>,
  subresource: string,
): Errors {
  const at = 'status.conditions';
  const errors: Errors = [];
  for (const type of ['Approved', 'Denied', 'Failed']) {
    const before = conditionsOf(old, type);
    const now = conditionsOf(request, type);
    const decision = type !== 'Failed' && subresource !== 'approval';
    if (now.length < before.length)
      errors.push(forbidden(at, `updates may not remove a condition of type ${JSON.stringify(type)}`));
    else if (decision && now.length > before.length)
      errors.push(forbidden(at, `updates may not add a condition of type ${JSON.stringify(type)}`));
    else if (decision && !semanticEqual(now, before))
      errors.push(forbidden(at, `updates may not modify a condition of type ${JSON.stringify(type)}`));
  }
  const undecided = (r: Decoded<CertificateSigningRequest>): boolean =>
    ['Approved', 'Denied'].some((type) => conditionsOf(r, type).length === 0);
  if (!undecided(request) && undecided(old)) {
    const all = request.status?.conditions ?? [];
    const second = all.findLastIndex((c) => c.type === 'Approved' || c.type === 'Denied');
    const why = 'Approved and Denied conditions are mutually exclusive';
    errors.push(invalid(`${at}[${second}].type`, all[second]?.type ?? '', why));
  }
  return errors;
}

const textOf = (base64: string): string => new TextDecoder('latin1').decode(base64ToBytes(base64));

/** A certificate that was stored as something else may stay, and be exchanged. */
function contentErrors(now: string, before: string): Errors {
  if (now === '' || now === before) return [];
  if (before !== '' && certificateFault(textOf(before)) !== undefined) return [];
  const fault = certificateFault(textOf(now));
  return fault === undefined ? [] : [invalid('status.certificate', '<certificate data>', fault)];
}

export function validateRequestUpdate(
  request: Decoded<CertificateSigningRequest>,
  old: Decoded<CertificateSigningRequest>,
  subresource: string,
): Errors {
  const [now, before] = [request.status?.certificate ?? '', old.status?.certificate ?? ''];
  const errors = [...contentErrors(now, before), ...decisionErrors(request, old, subresource)];
  if (now === before) return errors;
  if (subresource !== 'status')
    errors.push(forbidden('status.certificate', 'updates may not set certificate content'));
  else if (before !== '')
    errors.push(forbidden('status.certificate', 'updates may not modify existing certificate content'));
  return errors;
}
