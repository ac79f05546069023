// The cluster's keys and certificates: made on the first start, reused after, renewed before they end.
import {
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
  type KeyPairPem,
} from '../crypto/certificates.ts';
import {
  generatePrivateKey,
  type KeyObject,
  privateKeyFromPem,
  privateKeyToPem,
  publicKeyToPem,
} from '../crypto/keys.ts';
import { certificateFacts, isIssuedBy } from '../crypto/subject.ts';

/** Files below the PKI folder; written whole or not at all, readable by their owner only. */
export interface PkiFiles {
  read(name: string): string | undefined;
  write(name: string, text: string): void;
}

export interface ServerNames {
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
}

export interface NodeCredentials {
  /** user `system:node:<name>` of system:nodes. */
  readonly kubelet: KeyPairPem;
  /** For the kubelet's own port. */
  readonly kubeletServing: KeyPairPem;
  /** user `system:kube-proxy`: Services, EndpointSlices and the nodes' networks. */
  readonly kubeProxy: KeyPairPem;
}

export interface Pki {
  readonly caCertificatePem: string;
  readonly serviceAccountKey: KeyObject;
  /** The server's own certificate, made anew when its names changed. */
  serving(names: ServerNames): Promise<KeyPairPem>;
  /** A kept client certificate: admin, controllers … */
  client(file: string, commonName: string, organizations: readonly string[]): Promise<KeyPairPem>;
  issueNodeCredentials(nodeName: string, addresses: ServerNames): Promise<NodeCredentials>;
  /** The authority itself, for signing requests. */
  readonly authority: KeyPair;
}

const dayMs = 24 * 3600 * 1000;
const authorityDays = 3650;
const certificateDays = 365;
const renewDays = 30;
/** Clocks of other machines may be a little behind. */
const backdateMs = 5 * 60 * 1000;

export async function openPki(files: PkiFiles, clock: { now(): number }): Promise<Pki> {
  const now = clock.now();
  const dates = (days: number): { notBefore: number; notAfter: number } => ({
    notBefore: now - backdateMs,
    notAfter: now + days * dayMs,
  });

  const authority = await loadAuthority(files, dates(authorityDays));
  const isGood = (certificatePem: string, names?: ServerNames): boolean => {
    try {
      const facts = certificateFacts(certificatePem);
      if (facts.notAfter < now + renewDays * dayMs) return false;
      if (!isIssuedBy(certificatePem, authority.certificatePem)) return false;
      if (names === undefined) return true;
      const wanted = [
        ...names.dnsNames.map((name) => `DNS:${name}`),
        ...names.ips.map((ip) => `IP Address:${ip}`),
      ];
      return wanted.every((name) => facts.subjectAltNames.includes(name));
    } catch {
      return false;
    }
  };
  const kept = async (
    file: string,
    make: () => Promise<KeyPairPem>,
    names?: ServerNames,
  ): Promise<KeyPairPem> => {
    const certificatePem = files.read(`${file}.crt`);
    const privateKeyPem = files.read(`${file}.key`);
    if (certificatePem !== undefined && privateKeyPem !== undefined && isGood(certificatePem, names)) {
      return { certificatePem, privateKeyPem };
    }
    const made = await make();
    files.write(`${file}.key`, made.privateKeyPem);
    files.write(`${file}.crt`, made.certificatePem);
    return made;
  };
  const client = (commonName: string, organizations: readonly string[]): Promise<KeyPairPem> =>
    issueCertificate(authority, {
      commonName,
      organizations,
      usages: ['client'],
      ...dates(certificateDays),
    });
  const server = (
    commonName: string,
    organizations: readonly string[],
    names: ServerNames,
  ): Promise<KeyPairPem> =>
    issueCertificate(authority, {
      commonName,
      organizations,
      usages: ['server'],
      ...names,
      ...dates(certificateDays),
    });

  return {
    authority,
    caCertificatePem: authority.certificatePem,
    serviceAccountKey: loadServiceAccountKey(files),
    serving: (names) => kept('apiserver', () => server('kube-apiserver', [], names), names),
    client: (file, commonName, organizations) => kept(file, () => client(commonName, organizations)),
    issueNodeCredentials: async (nodeName, addresses) => {
      const user = `system:node:${nodeName}`;
      return {
        kubelet: await client(user, ['system:nodes']),
        kubeletServing: await server(user, ['system:nodes'], addresses),
        kubeProxy: await client('system:kube-proxy', ['system:node-proxier']),
      };
    },
  };
}

async function loadAuthority(
  files: PkiFiles,
  dates: { notBefore: number; notAfter: number },
): Promise<KeyPair> {
  const certificatePem = files.read('ca.crt');
  const privateKeyPem = files.read('ca.key');
  // An authority is never replaced on its own: everything that it signed would be worthless.
  if (certificatePem !== undefined && privateKeyPem !== undefined) {
    return { certificatePem, privateKey: privateKeyFromPem(privateKeyPem) };
  }
  if (certificatePem !== undefined) throw new Error('pki/ca.key is missing, though pki/ca.crt is there');
  const made = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  files.write('ca.key', privateKeyToPem(made.privateKey));
  files.write('ca.crt', made.certificatePem);
  return made;
}

function loadServiceAccountKey(files: PkiFiles): KeyObject {
  const pem = files.read('sa.key');
  if (pem !== undefined) return privateKeyFromPem(pem);
  const key = generatePrivateKey();
  files.write('sa.key', privateKeyToPem(key));
  files.write('sa.pub', publicKeyToPem(key));
  return key;
}
