// The three certificate plugins: who may approve and sign for which signer, and that nobody asks for system:masters.
import { certificatesigningrequests } from '../../api/generated/resources.ts';
import type { Json } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { parseCertificateRequest } from '../../crypto/certificate-requests.ts';
import { previous, requested } from './request/typed-request.ts';

async function maySigner(
  authorizer: Authorizer,
  request: AdmissionRequest,
  verb: string,
  signerName: string,
): Promise<boolean> {
  const wildcard = `${signerName.split('/')[0]}/*`;
  for (const name of [signerName, wildcard]) {
    const { decision } = await authorizer.authorize({
      user: request.user,
      verb,
      isResource: true,
      group: 'certificates.k8s.io',
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
      path: '',
    });
    if (decision === 'allow') return true;
  }
  return false;
}

export function createCertificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    operations: ['UPDATE'],
    async validate(request) {
      const csr = requested(request, certificatesigningrequests, 'approval');
      if (csr === undefined) return;
      const signer = previous(request, certificatesigningrequests)?.spec.signerName ?? csr.spec.signerName;
      if (await maySigner(authorizer, request, 'approve', signer)) return;
      const why = `user not permitted to approve requests with signerName ${JSON.stringify(signer)}`;
      throw forbidden(request.declaration, request.name, why);
    },
  };
}

export function createCertificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    operations: ['UPDATE'],
    async validate(request) {
      const csr = requested(request, certificatesigningrequests, 'status');
      if (csr === undefined) return;
      const old = previous(request, certificatesigningrequests);
      const same =
        csr.status?.certificate === old?.status?.certificate &&
        jsonEqual(
          (csr.status?.conditions ?? []) as unknown as Json,
          (old?.status?.conditions ?? []) as unknown as Json,
        );
      if (same) return;
      const signer = old?.spec.signerName ?? csr.spec.signerName;
      if (await maySigner(authorizer, request, 'sign', signer)) return;
      const why = `user not permitted to sign requests with signerName ${JSON.stringify(signer)}`;
      throw forbidden(request.declaration, request.name, why);
    },
  };
}

export function createCertificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: 'CertificateSubjectRestriction',
    operations: ['CREATE'],
    async validate(request) {
      const csr = requested(request, certificatesigningrequests);
      if (csr?.spec.signerName !== 'kubernetes.io/kube-apiserver-client') return;
      const refuse = (why: string): never => {
        throw forbidden(request.declaration, request.name, why);
      };
      let organizations: readonly string[] = [];
      try {
        const pem = Buffer.from(csr.spec.request, 'base64').toString('utf8');
        organizations = (await parseCertificateRequest(pem)).organizations;
      } catch (error) {
        refuse(`failed to parse CSR: ${error instanceof Error ? error.message : String(error)}`);
      }
      if (organizations.includes('system:masters')) {
        refuse('use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed');
      }
    },
  };
}
