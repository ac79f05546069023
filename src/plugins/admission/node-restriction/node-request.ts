// Certificates that a node asks for: its own, and no other node's.
import type { CertificateSigningRequest } from '../../../api/generated/types/certificates-v1.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import { parseCertificateRequest } from '../../../crypto/certificate-requests.ts';
import { refuse } from './refuse.ts';

const nodeSigners: readonly string[] = [
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
];

export async function checkNodeCertificate(request: AdmissionRequest, node: string): Promise<void> {
  const { spec } = request.object as unknown as CertificateSigningRequest;
  if (request.operation !== 'CREATE' || !nodeSigners.includes(spec.signerName)) return;
  const parsed = await parseCertificateRequest(Buffer.from(spec.request, 'base64').toString('utf8')).catch(
    (error: unknown) =>
      refuse(request, `unable to parse csr: ${error instanceof Error ? error.message : error}`),
  );
  if (parsed.commonName !== `system:node:${node}`)
    refuse(request, `can only create a node CSR with CN=system:node:${node}`);
}
