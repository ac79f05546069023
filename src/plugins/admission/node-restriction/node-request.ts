// Certificates that a node asks for: its own, and no other node's.
import { certificatesigningrequests } from '../../../api/generated/resources.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import { parseCertificateRequest } from '../../../crypto/certificate-requests.ts';
import { refuse } from '../request/refuse.ts';
import { requested } from '../request/typed-request.ts';

const nodeSigners: readonly string[] = [
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
];

export async function checkNodeCertificate(request: AdmissionRequest, node: string): Promise<void> {
  // Admission comes before validation: any part may be missing, and a deletion has no object.
  const asked = requested(request, certificatesigningrequests);
  if (request.operation !== 'CREATE' || !nodeSigners.includes(asked?.spec?.signerName ?? '')) return;
  const pem = Buffer.from(asked?.spec?.request ?? '', 'base64').toString('utf8');
  const parsed = await parseCertificateRequest(pem).catch((error: unknown) =>
    refuse(request, `unable to parse csr: ${error instanceof Error ? error.message : error}`),
  );
  if (parsed.commonName !== `system:node:${node}`)
    refuse(request, `can only create a node CSR with CN=system:node:${node}`);
}
