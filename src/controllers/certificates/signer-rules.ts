// What each signer of Kubernetes signs, and in which words it refuses. Pure.
import type { CertificateRequest } from '../../crypto/certificate-requests.ts';
import { type KeyUse, keyUses } from '../../crypto/certificates.ts';

export const clientSigner = 'kubernetes.io/kube-apiserver-client';
export const kubeletClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
export const kubeletServingSigner = 'kubernetes.io/kubelet-serving';

export type RequestFacts = Omit<CertificateRequest, 'publicKey' | 'subject'>;

export const nodesGroup = 'system:nodes';
export const nodePrefix = 'system:node:';

interface SignerRules {
  readonly required: readonly string[];
  readonly allowed: readonly string[];
  readonly issues: readonly ('client' | 'server')[];
  /** Why not; undefined when it may be signed. */
  refusal(facts: RequestFacts): string | undefined;
}

function notOfANode({ organizations, commonName }: RequestFacts): string | undefined {
  if (organizations.length !== 1 || organizations[0] !== nodesGroup)
    return `organization must be system:nodes`;
  return commonName.startsWith(nodePrefix) ? undefined : `subject common name must begin with system:node:`;
}

const signers: ReadonlyMap<string, SignerRules> = new Map<string, SignerRules>([
  [
    clientSigner,
    {
      required: ['client auth'],
      allowed: ['digital signature', 'key encipherment', 'client auth'],
      issues: ['client'],
      refusal: () => undefined,
    },
  ],
  [
    kubeletClientSigner,
    {
      required: ['digital signature', 'client auth'],
      allowed: ['digital signature', 'key encipherment', 'client auth'],
      issues: ['client'],
      refusal: (facts) =>
        notOfANode(facts) ??
        (facts.dnsNames.length > 0
          ? 'DNS subjectAltNames are not allowed'
          : facts.emails.length > 0
            ? 'Email subjectAltNames are not allowed'
            : facts.ips.length > 0
              ? 'IP subjectAltNames are not allowed'
              : facts.uris.length > 0
                ? 'URI subjectAltNames are not allowed'
                : undefined),
    },
  ],
  [
    kubeletServingSigner,
    {
      required: ['digital signature', 'server auth'],
      allowed: ['digital signature', 'key encipherment', 'server auth'],
      issues: ['server'],
      refusal: (facts) =>
        notOfANode(facts) ??
        (facts.dnsNames.length + facts.ips.length === 0
          ? 'DNS or IP subjectAltName is required'
          : facts.emails.length > 0
            ? 'Email subjectAltNames are not allowed'
            : facts.uris.length > 0
              ? 'URI subjectAltNames are not allowed'
              : undefined),
    },
  ],
]);

export const isOwnSigner = (name: string): boolean => signers.has(name);

export type Verdict =
  | { readonly keyUses: readonly KeyUse[]; readonly usages: readonly ('client' | 'server')[] }
  | { readonly refusal: string };

export function verdictOf(signer: string, usages: readonly string[], facts: RequestFacts): Verdict {
  const rules = signers.get(signer);
  if (rules === undefined) return { refusal: `unknown signer ${signer}` };
  const refusal = rules.refusal(facts);
  if (refusal !== undefined) return { refusal };
  const fit =
    rules.required.every((usage) => usages.includes(usage)) &&
    usages.every((usage) => rules.allowed.includes(usage));
  if (!fit) return { refusal: `usages did not match ${JSON.stringify(rules.allowed)}` };
  return { keyUses: keyUses.filter((use) => usages.includes(use)), usages: rules.issues };
}

export interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}
const backdateMs = 5 * 60_000;
const defaultSigningMs: number = 365 * 24 * 3_600_000;
const minimumSeconds = 600;

/** As long as was asked for, within what this authority gives. */
export function validityOf(
  expirationSeconds: number | undefined,
  now: number,
  authorityEnds: number,
  longestMs: number = defaultSigningMs,
): Validity {
  const asked =
    expirationSeconds === undefined ? longestMs : Math.max(minimumSeconds, expirationSeconds) * 1000;
  const life = Math.min(asked, longestMs);
  return {
    notBefore: now - Math.min(backdateMs, life / 10),
    notAfter: Math.min(now + life, authorityEnds),
  };
}
