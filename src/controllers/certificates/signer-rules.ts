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
  readonly issues: readonly ('client' | 'server')[];
  /** Why not, in upstream's words and order; undefined when it may be signed. */
  refusal(facts: RequestFacts, usages: readonly string[]): string | undefined;
}

/** The words of the first that holds. */
const firstOf = (...reasons: readonly (readonly [holds: boolean, words: string])[]): string | undefined =>
  reasons.find(([holds]) => holds)?.[1];

const notOfNodes = ({ organizations }: RequestFacts): readonly [boolean, string] => [
  organizations.length !== 1 || organizations[0] !== nodesGroup,
  'subject organization is not system:nodes',
];
const notOfOneNode = ({ commonName }: RequestFacts): readonly [boolean, string] => [
  !commonName.startsWith(nodePrefix),
  'subject common name does not begin with system:node:',
];
const noNames = (kind: string, names: readonly string[]): readonly [boolean, string] => [
  names.length > 0,
  `${kind} subjectAltNames are not allowed`,
];

/** What a kubelet's certificate is for: its own authentication, and encipherment with it if it likes. */
function otherUsages(authentication: string, usages: readonly string[]): readonly [boolean, string] {
  const required = ['digital signature', authentication];
  const allowed = [...required, 'key encipherment'];
  const fits =
    required.every((usage) => usages.includes(usage)) && usages.every((usage) => allowed.includes(usage));
  return [!fits, `usages did not match [${allowed.sort().join(' ')}]`];
}

function notOfAClient(usages: readonly string[]): string | undefined {
  const invalid = usages.find(
    (usage) => !['digital signature', 'key encipherment', 'client auth'].includes(usage),
  );
  if (invalid !== undefined) return `invalid usage for client certificate: ${invalid}`;
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth';
}

const signers: ReadonlyMap<string, SignerRules> = new Map<string, SignerRules>([
  [clientSigner, { issues: ['client'], refusal: (_facts, usages) => notOfAClient(usages) }],
  [
    kubeletClientSigner,
    {
      issues: ['client'],
      refusal: (facts, usages) =>
        firstOf(
          notOfNodes(facts),
          noNames('DNS', facts.dnsNames),
          noNames('Email', facts.emails),
          noNames('IP', facts.ips),
          noNames('URI', facts.uris),
          notOfOneNode(facts),
          otherUsages('client auth', usages),
        ),
    },
  ],
  [
    kubeletServingSigner,
    {
      issues: ['server'],
      refusal: (facts, usages) =>
        firstOf(
          notOfNodes(facts),
          [facts.dnsNames.length + facts.ips.length === 0, 'DNS or IP subjectAltName is required'],
          noNames('Email', facts.emails),
          noNames('URI', facts.uris),
          otherUsages('server auth', usages),
          notOfOneNode(facts),
        ),
    },
  ],
]);

export const ownSigners: readonly string[] = [...signers.keys()];
export const isOwnSigner = (name: string): boolean => signers.has(name);

/** What RBAC calls the right to approve and sign for a signer, which goes by its name. */
export const signerRight = { group: 'certificates.k8s.io', resource: 'signers' } as const;

export type Verdict =
  | { readonly keyUses: readonly KeyUse[]; readonly usages: readonly ('client' | 'server')[] }
  | { readonly refusal: string };

export function verdictOf(signer: string, usages: readonly string[], facts: RequestFacts): Verdict {
  const rules = signers.get(signer);
  if (rules === undefined) return { refusal: `unrecognized signerName: ${JSON.stringify(signer)}` };
  const refusal = rules.refusal(facts, usages);
  if (refusal !== undefined) return { refusal };
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
