// Signs approved requests for certificates of clients and nodes.
import { certificatesigningrequests } from '../api/generated/resources.ts';
import type { CertificateSigningRequest } from '../api/generated/types/certificates-v1.ts';
import { rfc3339 } from '../base/clock.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';
import { parseCertificateRequest, signCertificateRequest } from '../crypto/certificate-requests.ts';
import { CertificateMismatchError, type KeyPair } from '../crypto/certificates.ts';
import { certificateFacts } from '../crypto/subject.ts';
import { certificateRetryMs, hasCondition, isIssued } from './certificates/request-state.ts';
import {
  isOwnSigner,
  kubeletServingSigner,
  ownSigners,
  signerRight,
  validityOf,
  verdictOf,
} from './certificates/signer-rules.ts';

const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString('utf8');

type Signed = { readonly certificatePem: string } | { readonly refusal: string };

/** Who signs for which kind of signer, as they are now. */
export interface CertificateSigners {
  client(): KeyPair;
  kubeletServing(): KeyPair;
}

async function sign(
  signers: CertificateSigners,
  request: CertificateSigningRequest,
  now: number,
  longestMs: number | undefined,
): Promise<Signed> {
  const parsed = await parseCertificateRequest(fromBase64(request.spec.request)).catch(
    (error: unknown) => `unable to parse csr: ${error instanceof Error ? error.message : String(error)}`,
  );
  if (typeof parsed === 'string') return { refusal: parsed };
  const verdict = verdictOf(request.spec.signerName, request.spec.usages ?? [], parsed);
  if ('refusal' in verdict) return verdict;
  const authority =
    request.spec.signerName === kubeletServingSigner ? signers.kubeletServing() : signers.client();
  const authorityEnds = certificateFacts(authority.certificatePem).notAfter;
  const validity = validityOf(request.spec.expirationSeconds, now, authorityEnds, longestMs);
  try {
    return {
      certificatePem: await signCertificateRequest(authority, parsed, {
        keyUses: verdict.keyUses,
        usages: verdict.usages,
        ...validity,
      }),
    };
  } catch (error) {
    if (error instanceof CertificateMismatchError) return { refusal: error.message };
    throw error;
  }
}

/** Without signers it signs nothing: somebody else does. */
export function certificateSigningController(
  signers: CertificateSigners | undefined,
  longestMs?: number,
): Controller {
  return defineController({
    name: 'certificatesigningrequest-signing-controller',
    queue: 'certificate',
    serviceAccount: 'certificate-controller',
    for: certificatesigningrequests,
    access: [
      may('update', certificatesigningrequests, 'status'),
      { ...may('sign', signerRight), names: ownSigners },
    ],
    firstRetryMs: certificateRetryMs,
    async reconcile({ name }, context) {
      const request = context.read(certificatesigningrequests).get(name);
      if (signers === undefined || request === undefined || !isOwnSigner(request.spec.signerName))
        return undefined;
      if (!hasCondition(request, 'Approved') || hasCondition(request, 'Denied')) return undefined;
      if (hasCondition(request, 'Failed') || isIssued(request)) return undefined;
      const now = context.clock.now();
      const signed = await sign(signers, request, now, longestMs);
      const time = rfc3339(now);
      const status =
        'certificatePem' in signed
          ? {
              ...request.status,
              certificate: Buffer.from(signed.certificatePem, 'utf8').toString('base64'),
            }
          : {
              ...request.status,
              conditions: [
                ...(request.status?.conditions ?? []),
                {
                  type: 'Failed',
                  status: 'True',
                  reason: 'SignerValidationFailure',
                  message: signed.refusal,
                  lastUpdateTime: time,
                  lastTransitionTime: time,
                },
              ],
            };
      await context.write.update(
        certificatesigningrequests,
        { ...request, status },
        { subresource: 'status' },
      );
      return undefined;
    },
  });
}
