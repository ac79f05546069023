// The cluster's keys and certificates, in kubeadm's files: made on the first start, reused after, renewed before they end.
import {
  type CertificateUsage,
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
  type KeyPairPem,
} from '../crypto/certificates.ts';
import {
  generatePrivateKey,
  holdsPublicKey,
  isWhole,
  type KeyObject,
  privateKeyFromPem,
  privateKeyToPem,
  publicKeyToPem,
} from '../crypto/keys.ts';
import { certificateFacts, isIssuedBy, isPairOf } from '../crypto/subject.ts';
import type { NamedCertificate } from '../wire/named-certificates.ts';
import type { ClientAuthorities } from './control-plane.ts';
import { kubeletClientUser } from './kubelet-client-user.ts';

/** Files below the PKI folder; written whole or not at all, readable by their owner only. */
export interface PkiFiles {
  read(name: string): string | undefined;
  write(name: string, text: string): void;
}

export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  /** Of the addresses, those by which the cluster's own clients come. Default: none. */
  readonly needed?: readonly string[];
}

export interface NodeCredentials {
  /** user `system:node:<name>` of system:nodes. */
  readonly kubelet: KeyPairPem;
  /** For the kubelet's own port. */
  readonly kubeletServing: KeyPairPem;
}

export interface PkiOptions {
  /** How long certificates of the server and of nodes are good. Default a year. */
  readonly certificateMs?: number | undefined;
}

/** Everything that is asked for is read from its file, and made anew when it is about to end: ask again to rotate. */
export interface Pki {
  /** Signed the API server's certificate, and the clients'. A bundle, when `ca.crt` is one. */
  readonly caCertificatePem: string;
  /** Vouches for the API server's certificate: what its clients are given. */
  readonly rootCaPem: string;
  /** Signed the certificates of kubelets' servers, and nothing else. */
  readonly kubeletServingCaPem: string;
  readonly authorities: ClientAuthorities;
  readonly signers: CertificateSigners;
  readonly serviceAccountKey: KeyObject;
  /** The server's own certificate, made anew when its names changed. */
  serving(names: ServerNames): Promise<KeyPairPem>;
  /** For clients who ask for other names. */
  named?(): readonly NamedCertificate[];
  /** With which the API server speaks to kubelets. */
  kubeletClient(): Promise<KeyPairPem>;
  /** With which the API server speaks to extension API servers. */
  frontProxyClient(): Promise<KeyPairPem>;
  admin(): Promise<KeyPairPem>;
  issueNodeCredentials(nodeName: string, addresses: ServerNames): Promise<NodeCredentials>;
  /** user `system:kube-proxy`: Services, EndpointSlices and the nodes' networks. */
  issueKubeProxy(): Promise<KeyPairPem>;
  /** Reads the authorities' files again; throws, and keeps what it had, when they can't be used. */
  reload(): void;
  /** Which authorities end soon: only an administrator can replace them, since everyone must learn of the new one first. */
  endingAuthorities(): readonly { readonly name: string; readonly notAfter: number }[];
}

/** Who signs for which kind of signer. */
export interface CertificateSigners {
  client(): KeyPair;
  kubeletServing(): KeyPair;
}

const dayMs = 24 * 3600 * 1000;
const authorityMs = 3650 * dayMs;
const defaultCertificateMs = 365 * dayMs;
/** A certificate is renewed when less than this, and less than a third of its life, is left. */
const renewMs = 30 * dayMs;
const warnAuthorityMs = 90 * dayMs;
/** Clocks of other machines may be a little behind. */
const backdateMs = 5 * 60 * 1000;

const authorityNames = {
  ca: 'kubernetes',
  'kubelet-serving-ca': 'kubelet-serving-ca',
  'front-proxy-ca': 'front-proxy-ca',
} as const;
type AuthorityFile = keyof typeof authorityNames;
const authorityFiles = Object.keys(authorityNames) as readonly AuthorityFile[];

interface Authority {
  /** Everything that vouches. */
  readonly bundlePem: string;
  readonly signer: KeyPair;
}

interface Leaf {
  readonly authority: AuthorityFile;
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage: CertificateUsage;
  readonly names?: ServerNames;
}

interface Issuer {
  readonly files: PkiFiles;
  readonly clock: { now(): number };
  readonly certificateMs: number;
  bundle(file: AuthorityFile): string;
  signer(file: AuthorityFile): KeyPair;
}

function issue(
  { clock, certificateMs, signer }: Issuer,
  { authority, commonName, organizations, usage, names }: Leaf,
): Promise<KeyPairPem> {
  const now = clock.now();
  return issueCertificate(signer(authority), {
    commonName,
    organizations: organizations ?? [],
    usages: [usage],
    ...names,
    notBefore: now - Math.min(backdateMs, certificateMs / 10),
    notAfter: now + certificateMs,
  });
}

/** The one in the files while it is good, else a new one. */
async function keptOrIssued(issuer: Issuer, file: string, leaf: Leaf): Promise<KeyPairPem> {
  const { files, clock } = issuer;
  const certificatePem = files.read(`${file}.crt`);
  const privateKeyPem = files.read(`${file}.key`);
  if (certificatePem !== undefined && privateKeyPem !== undefined) {
    const pair = { certificatePem, privateKeyPem };
    if (isGood(pair, issuer.bundle(leaf.authority), leaf.names, clock.now())) return pair;
  }
  const made = await issue(issuer, leaf);
  files.write(`${file}.key`, made.privateKeyPem);
  files.write(`${file}.crt`, made.certificatePem);
  return made;
}

async function issueNode(
  issuer: Issuer,
  nodeName: string,
  names: ServerNames,
): ReturnType<Pki['issueNodeCredentials']> {
  const node = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
  return {
    kubelet: await issue(issuer, { ...node, authority: 'ca', usage: 'client' }),
    kubeletServing: await issue(issuer, { ...node, authority: 'kubelet-serving-ca', usage: 'server', names }),
  };
}

export async function openPki(
  files: PkiFiles,
  clock: { now(): number },
  options: PkiOptions = {},
): Promise<Pki> {
  const certificateMs = options.certificateMs ?? defaultCertificateMs;
  for (const [file, commonName] of Object.entries(authorityNames))
    await makeAuthority(files, file, commonName, clock.now());
  const read = (): ReadonlyMap<AuthorityFile, Authority> =>
    new Map(authorityFiles.map((file) => [file, readAuthority(files, file)]));
  let loaded = read();
  const bundle = (file: AuthorityFile): string => loaded.get(file)!.bundlePem;
  const signer = (file: AuthorityFile): KeyPair => loaded.get(file)!.signer;

  const issuer: Issuer = { files, clock, certificateMs, bundle, signer };
  const kept = (file: string, leaf: Leaf): Promise<KeyPairPem> => keptOrIssued(issuer, file, leaf);

  return {
    get caCertificatePem() {
      return bundle('ca');
    },
    get rootCaPem() {
      return bundle('ca');
    },
    get kubeletServingCaPem() {
      return bundle('kubelet-serving-ca');
    },
    authorities: { clientCa: () => bundle('ca'), frontProxyCa: () => bundle('front-proxy-ca') },
    signers: { client: () => signer('ca'), kubeletServing: () => signer('kubelet-serving-ca') },
    serviceAccountKey: loadServiceAccountKey(files),
    serving: (names) =>
      kept('apiserver', { authority: 'ca', commonName: 'kube-apiserver', usage: 'server', names }),
    // Its rights are those of one role, on kubelets: whoever claims to be a node gets no administrator to talk to.
    kubeletClient: () =>
      kept('apiserver-kubelet-client', { authority: 'ca', commonName: kubeletClientUser, usage: 'client' }),
    frontProxyClient: () =>
      kept('front-proxy-client', {
        authority: 'front-proxy-ca',
        commonName: 'front-proxy-client',
        usage: 'client',
      }),
    admin: () =>
      kept('admin', {
        authority: 'ca',
        commonName: 'kubernetes-admin',
        organizations: ['kubeadm:cluster-admins', 'system:masters'],
        usage: 'client',
      }),
    issueNodeCredentials: (nodeName, addresses) => issueNode(issuer, nodeName, addresses),
    issueKubeProxy: () =>
      issue(issuer, {
        authority: 'ca',
        commonName: 'system:kube-proxy',
        organizations: ['system:node-proxier'],
        usage: 'client',
      }),
    reload: () => {
      loaded = read();
    },
    endingAuthorities: () =>
      authorityFiles
        .map((file) => ({
          name: `${file}.crt`,
          notAfter: certificateFacts(signer(file).certificatePem).notAfter,
        }))
        .filter(({ notAfter }) => notAfter < clock.now() + warnAuthorityMs),
  };
}

/** Can be used a while longer, is of this authority, says these names. */
export function isGood(
  { certificatePem, privateKeyPem }: KeyPairPem,
  authorityPem: string,
  names: ServerNames | undefined,
  now: number,
): boolean {
  try {
    const facts = certificateFacts(certificatePem);
    // Made when the clock was ahead: nobody would take it.
    if (facts.notBefore > now) return false;
    const left = facts.notAfter - now;
    if (left < Math.min(renewMs, (facts.notAfter - facts.notBefore) / 3)) return false;
    if (!isPairOf(certificatePem, privateKeyPem) || !isIssuedBy(certificatePem, authorityPem)) return false;
    const { dnsNames, ips } = facts.names;
    return (
      names === undefined ||
      (names.dnsNames.every((name) => dnsNames.includes(name)) && names.ips.every((ip) => ips.includes(ip)))
    );
  } catch {
    return false;
  }
}

async function makeAuthority(files: PkiFiles, file: string, commonName: string, now: number): Promise<void> {
  const certificatePem = files.read(`${file}.crt`);
  // An authority is never replaced on its own: everything that it signed would be worthless.
  if (certificatePem !== undefined) {
    if (files.read(`${file}.key`) === undefined)
      throw new Error(
        `pki/${file}.key is missing, though pki/${file}.crt is there: put it back from a backup; without it nothing can be signed`,
      );
    return;
  }
  const made = await createCertificateAuthority({
    commonName,
    notBefore: now - backdateMs,
    notAfter: now + authorityMs,
  });
  files.write(`${file}.key`, privateKeyToPem(made.privateKey));
  files.write(`${file}.crt`, made.certificatePem);
}

/** The bundle that vouches, and the certificate and key that sign: the one of the bundle that the key belongs to. */
function readAuthority(files: PkiFiles, file: string): Authority {
  const bundlePem = files.read(`${file}.crt`) ?? '';
  const keyPem = files.read(`${file}.key`) ?? '';
  const privateKey = keyIn(`${file}.key`, keyPem);
  const blocks = bundlePem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
  if (blocks.length === 0) throw damaged(`${file}.crt`, undefined);
  for (const block of blocks) checkCertificate(`${file}.crt`, block, bundlePem);
  const certificatePem = blocks.find((block) => isPairOf(block, keyPem));
  if (certificatePem === undefined)
    throw new Error(`pki/${file}.key belongs to no certificate of pki/${file}.crt`);
  return { bundlePem, signer: { certificatePem, privateKey } };
}

class WrongSignature extends Error {}

const damaged = (name: string, cause: unknown): Error =>
  new Error(
    `pki/${name} is damaged (${cause instanceof WrongSignature ? cause.message : 'it is no PEM of its kind'}): put it back from a backup`,
    { cause },
  );

/** Each one is vouched for by itself, or by another one beside it: else a bit of it may be another than was signed. */
function checkCertificate(name: string, certificatePem: string, bundlePem: string): void {
  try {
    certificateFacts(certificatePem);
    if (!isIssuedBy(certificatePem, bundlePem)) throw new WrongSignature('nobody in it signed what it says');
  } catch (cause) {
    throw damaged(name, cause);
  }
}

function keyIn(name: string, pem: string): KeyObject {
  try {
    const key = privateKeyFromPem(pem);
    if (!isWhole(key)) throw new Error('its halves do not belong together');
    return key;
  } catch (cause) {
    throw damaged(name, cause);
  }
}

/** Who checks tokens elsewhere has `sa.pub`: it must be the other half of the key that signs them. */
function loadServiceAccountKey(files: PkiFiles): KeyObject {
  const pem = files.read('sa.key');
  if (pem === undefined) {
    const key = generatePrivateKey();
    files.write('sa.key', privateKeyToPem(key));
    files.write('sa.pub', publicKeyToPem(key));
    return key;
  }
  const key = keyIn('sa.key', pem);
  const publicPem = files.read('sa.pub');
  if (publicPem === undefined) files.write('sa.pub', publicKeyToPem(key));
  else if (!holdsPublicKey(publicPem, key))
    throw new Error(
      'pki/sa.pub does not belong to pki/sa.key: put back from a backup whichever is wrong; if that is sa.pub, removing it is enough: it is made from sa.key',
    );
  return key;
}
