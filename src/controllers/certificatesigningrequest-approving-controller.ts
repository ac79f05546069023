// Approves client certificates of kubelets whose askers may have them.
import { certificatesigningrequests, subjectaccessreviews } from '../api/generated/resources.ts';
import type { CertificateSigningRequest } from '../api/generated/types/certificates-v1.ts';
import { rfc3339 } from '../base/clock.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { parseCertificateRequest } from '../crypto/certificate-requests.ts';
import { hasCondition, isIssued } from './certificates/request-state.ts';
import { kubeletClientSigner, verdictOf } from './certificates/signer-rules.ts';

async function mayHave(
  context: ControllerContext,
  { spec }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const review = await context.write.create(subjectaccessreviews, {
    spec: {
      user: spec.username,
      uid: spec.uid,
      groups: spec.groups,
      extra: spec.extra,
      resourceAttributes: {
        group: 'certificates.k8s.io',
        resource: 'certificatesigningrequests',
        verb: 'create',
        subresource,
        version: '*',
      },
    },
  });
  return review.status?.allowed === true;
}

/** The message of the approval; undefined when there is none. */
async function approval(
  context: ControllerContext,
  request: CertificateSigningRequest,
): Promise<string | undefined> {
  const { spec } = request;
  if (spec.signerName !== kubeletClientSigner) return undefined;
  const parsed = await parseCertificateRequest(Buffer.from(spec.request, 'base64').toString('utf8')).catch(
    () => undefined,
  );
  if (parsed === undefined || 'refusal' in verdictOf(spec.signerName, spec.usages ?? [], parsed))
    return undefined;
  if (spec.username === parsed.commonName && (await mayHave(context, request, 'selfnodeclient')))
    return 'Auto approving self kubelet client certificate after SubjectAccessReview.';
  return (await mayHave(context, request, 'nodeclient'))
    ? 'Auto approving kubelet client certificate after SubjectAccessReview.'
    : undefined;
}

export const certificateApprovingController: Controller = defineController({
  name: 'certificatesigningrequest-approving-controller',
  serviceAccount: 'certificate-controller',
  for: certificatesigningrequests,
  writes: [certificatesigningrequests, subjectaccessreviews],
  async reconcile({ name }, context) {
    const request = context.read(certificatesigningrequests).get(name);
    if (request === undefined || isIssued(request)) return undefined;
    if (hasCondition(request, 'Approved') || hasCondition(request, 'Denied')) return undefined;
    const message = await approval(context, request);
    if (message === undefined) return undefined;
    const time = rfc3339(context.clock.now());
    const approved = {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message,
      lastUpdateTime: time,
      lastTransitionTime: time,
    };
    const conditions = [...(request.status?.conditions ?? []), approved];
    await context.write.update(
      certificatesigningrequests,
      { ...request, status: { ...request.status, conditions } },
      { subresource: 'approval' },
    );
    return undefined;
  },
});
