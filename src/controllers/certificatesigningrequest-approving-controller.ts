// Approves client certificates of kubelets whose askers may have them.
import {
  certificatesigningrequests,
  endpointslices,
  nodes,
  servicecidrs,
  subjectaccessreviews,
} from '../api/generated/resources.ts';
import type { CertificateSigningRequest } from '../api/generated/types/certificates-v1.ts';
import { rfc3339 } from '../base/clock.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { IgnorableError } from '../controller-runtime/ignorable-error.ts';
import { parseCertificateRequest } from '../crypto/certificate-requests.ts';
import { certificateRetryMs, hasCondition, isIssued } from './certificates/request-state.ts';
import { type ClusterAddresses, notItsOwn } from './certificates/serving-names.ts';
import {
  kubeletClientSigner,
  kubeletServingSigner,
  nodePrefix,
  nodesGroup,
  signerRight,
  verdictOf,
} from './certificates/signer-rules.ts';

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
      },
    },
  });
  return review.status?.allowed === true;
}

/** The addresses that are somebody's: the Nodes', the API server's, and those that Services get. */
function addressesOf(context: ControllerContext): ClusterAddresses {
  const servers = context.read(endpointslices).get('kubernetes', 'default')?.endpoints ?? [];
  return {
    nodes: context.read(nodes).list(),
    servers: servers.flatMap(({ addresses }) => addresses),
    services: context
      .read(servicecidrs)
      .list()
      .flatMap(({ spec }) => spec?.cidrs ?? []),
  };
}

/** Rights to a node's client certificate, and what the approval says that each of them leads to. */
const clientApprovals = {
  selfnodeclient: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  nodeclient: 'Auto approving kubelet client certificate after SubjectAccessReview.',
} as const;

async function approvalOfClient(
  context: ControllerContext,
  request: CertificateSigningRequest,
  isSelf: boolean,
): Promise<string> {
  const rights = isSelf ? (['selfnodeclient', 'nodeclient'] as const) : (['nodeclient'] as const);
  for (const right of rights) if (await mayHave(context, request, right)) return clientApprovals[right];
  // The right may come later, by a binding that is written after the request.
  throw new IgnorableError(
    `recognized csr ${JSON.stringify(request.metadata.name)} as [${rights.join(' ')}] but subject access review was not approved`,
  );
}

/** The message of the approval; undefined when it is not for us. Throws IgnorableError when it may come to be approved. */
async function approval(
  context: ControllerContext,
  request: CertificateSigningRequest,
  options: ApprovalOptions,
): Promise<string | undefined> {
  const { spec } = request;
  const isServing = options.kubeletServing && spec.signerName === kubeletServingSigner;
  if (spec.signerName !== kubeletClientSigner && !isServing) return undefined;
  const parsed = await parseCertificateRequest(Buffer.from(spec.request, 'base64').toString('utf8')).catch(
    () => undefined,
  );
  if (parsed === undefined || 'refusal' in verdictOf(spec.signerName, spec.usages ?? [], parsed))
    return undefined;
  const isSelf = spec.username === parsed.commonName;
  if (!isServing) return approvalOfClient(context, request, isSelf);
  if (!isSelf || !(spec.groups ?? []).includes(nodesGroup)) return undefined;
  const node = parsed.commonName.slice(nodePrefix.length);
  const why = notItsOwn(parsed, node, addressesOf(context));
  if (why === undefined)
    return "Auto approving kubelet serving certificate: its names and addresses are the Node's.";
  context.log.info({ request: request.metadata.name, why }, 'a serving certificate waits for approval');
  // Its Node may not have said its addresses yet.
  throw new IgnorableError(why);
}

export interface ApprovalOptions {
  /** Upstream leaves these to people, since it can't know what is a node's address. */
  readonly kubeletServing: boolean;
}

export const certificateApprovingController = (options: ApprovalOptions): Controller =>
  defineController({
    name: 'certificatesigningrequest-approving-controller',
    queue: 'certificate',
    serviceAccount: 'certificate-controller',
    for: certificatesigningrequests,
    ...(options.kubeletServing ? { reads: [nodes, endpointslices, servicecidrs] } : {}),
    access: [
      may('update', certificatesigningrequests, 'approval'),
      {
        ...may('approve', signerRight),
        names: options.kubeletServing ? [kubeletClientSigner, kubeletServingSigner] : [kubeletClientSigner],
      },
      may('create', subjectaccessreviews),
    ],
    firstRetryMs: certificateRetryMs,
    async reconcile({ name }, context) {
      const request = context.read(certificatesigningrequests).get(name);
      if (request === undefined || isIssued(request)) return undefined;
      if (hasCondition(request, 'Approved') || hasCondition(request, 'Denied')) return undefined;
      const message = await approval(context, request, options);
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
