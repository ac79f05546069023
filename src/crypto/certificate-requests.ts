// PKCS#10 certificate signing requests: made by nodes, read and signed by the control plane.
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  type AlternativeNames,
  hasNames,
  noNames,
  readAlternativeNames,
  writeAlternativeNames,
} from './alternative-names.ts';
import type { CertificateUsage, KeyPair, KeyUse } from './certificates.ts';
import { signCertificate } from './certificates.ts';
import { childAt, childrenOf, DerError, type DerValue, derTag, oidOf, readDer } from './der.ts';
import { der, derOid } from './der-writer.ts';
import {
  commonNameOf,
  type NameAttribute,
  organizationsOf,
  readName,
  signableName,
  subjectOf,
  writeName,
} from './distinguished-name.ts';
import { generatePrivateKey, privateKeyToPem } from './keys.ts';
import { extensionOid, pemBlocks, readExtensions } from './read-certificate.ts';
import { derExtension, publicKeyDer, signedDer, toPem } from './signed-der.ts';

export interface CertificateRequest extends AlternativeNames {
  readonly subject: readonly NameAttribute[];
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly publicKey: KeyObject;
}

const extensionRequest = '1.2.840.113549.1.9.14';

/** The attribute that asks for extensions. */
const askingFor = (...extensions: readonly Uint8Array[]): Buffer =>
  der(derTag.sequence, derOid(extensionRequest), der(derTag.set, der(derTag.sequence, ...extensions)));

export async function createCertificateRequest(options: {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
}): Promise<{ readonly requestPem: string; readonly privateKeyPem: string }> {
  const key = generatePrivateKey();
  const { dnsNames = [], ips = [] } = options;
  const names = { ...noNames, dnsNames, ips };
  const attributes = hasNames(names)
    ? [askingFor(derExtension(extensionOid.alternativeNames, writeAlternativeNames(names)))]
    : [];
  const said = der(
    derTag.sequence,
    der(derTag.integer, Buffer.from([0])),
    writeName(subjectOf(options.commonName, options.organizations)),
    publicKeyDer(key),
    der(0xa0, ...attributes),
  );
  const requestPem = toPem('CERTIFICATE REQUEST', signedDer(said, key));
  return { requestPem, privateKeyPem: privateKeyToPem(key) };
}

/** Signature algorithm to digest; null where the key knows its own. */
const digests: ReadonlyMap<string, string | null> = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
]);

/** The extensions that are asked for. Two lists of them could be read as either. */
function requestedExtensions(attributes: DerValue | undefined): ReturnType<typeof readExtensions> {
  const lists = (attributes === undefined ? [] : childrenOf(attributes)).flatMap((attribute) => {
    const [type, values] = childrenOf(attribute);
    if (type === undefined || values?.tag !== derTag.set) throw new DerError('x509: malformed attribute');
    return oidOf(type) === extensionRequest ? childrenOf(values) : [];
  });
  if (lists.length > 1)
    throw new DerError('x509: certificate request contains duplicate requested extensions');
  return lists.flatMap((list) => readExtensions(list, 'certificate request'));
}

/** Reads and checks the signature. Throws Error when it is no request, or not signed by its own key. */
export async function parseCertificateRequest(pem: string): Promise<CertificateRequest> {
  const blocks = pemBlocks(pem, '(?:NEW )?CERTIFICATE REQUEST');
  if (blocks[0] === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST');
  if (blocks.length > 1) throw new Error('PEM text holds more than one CERTIFICATE REQUEST');
  const outer = childrenOf(readDer(blocks[0], derTag.sequence));
  const info = childAt(outer, 0, derTag.sequence);
  const algorithm = oidOf(childAt(childrenOf(childAt(outer, 1, derTag.sequence)), 0, derTag.oid));
  const signature = childAt(outer, 2, derTag.bitString).content.subarray(1);
  const fields = childrenOf(info);
  const subject = readName(childAt(fields, 1, derTag.sequence));
  const key = childAt(fields, 2, derTag.sequence);
  const extensions = requestedExtensions(fields.find((field) => field.tag === 0xa0));
  const names = extensions.find(({ oid }) => oid === extensionOid.alternativeNames);
  const publicKey = createPublicKey({ key: Buffer.from(key.raw), format: 'der', type: 'spki' });
  const digest = digests.get(algorithm);
  if (digest === undefined) throw new Error('x509: cannot verify signature: algorithm unimplemented');
  if (!verify(digest, info.raw, publicKey, signature))
    throw new Error('x509: the signature of the request is wrong');
  return {
    subject,
    commonName: commonNameOf(subject) ?? '',
    organizations: organizationsOf(subject),
    ...(names === undefined ? noNames : readAlternativeNames(names.value)),
    publicKey,
  };
}

/** Signs a request as it was asked for, with the usages and dates of the signer. */
export async function signCertificateRequest(
  ca: KeyPair,
  request: CertificateRequest,
  terms: {
    readonly keyUses: readonly KeyUse[];
    readonly usages: readonly CertificateUsage[];
    readonly notBefore: number;
    readonly notAfter: number;
  },
): Promise<string> {
  const { dnsNames, ips, emails, uris } = request;
  const subject = signableName(request.subject);
  return await signCertificate(
    ca,
    { subject, names: { dnsNames, ips, emails, uris }, ...terms },
    request.publicKey,
  );
}
