// Where a certificate signing request stands.
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../api/generated/types/certificates-v1.ts';

export const hasCondition = (request: CertificateSigningRequest, type: string): boolean =>
  request.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ??
  false;

export const isIssued = (request: CertificateSigningRequest): boolean =>
  (request.status?.certificate ?? '') !== '';

/** As upstream: requests are looked at again after 200 ms, 400 ms … */
export const certificateRetryMs = 200;

const hourMs = 3_600_000;
const keptMs = { answered: hourMs, pending: 24 * hourMs } as const;

const lastChange = (conditions: readonly CertificateSigningRequestCondition[], type: string): number =>
  Math.max(
    Number.NEGATIVE_INFINITY,
    ...conditions
      .filter((condition) => condition.type === type)
      .map(({ lastUpdateTime }) => Date.parse(lastUpdateTime ?? ''))
      .filter((at) => !Number.isNaN(at)),
  );

/** When a request has been there for long enough: an hour after its answer, a day without one. */
export function disposableAt(request: CertificateSigningRequest): number {
  const conditions = request.status?.conditions ?? [];
  const pendingUntil = Date.parse(request.metadata.creationTimestamp ?? '') + keptMs.pending;
  const answers = [
    ...(isIssued(request) ? [lastChange(conditions, 'Approved')] : []),
    lastChange(conditions, 'Denied'),
    lastChange(conditions, 'Failed'),
  ].filter((at) => at !== Number.NEGATIVE_INFINITY);
  return Math.min(pendingUntil, ...answers.map((at) => at + keptMs.answered));
}
