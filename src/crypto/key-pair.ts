// Whether a certificate and a key of files are a pair, and whether clients of an authority would believe it: in Go's words.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { shortestIp } from './alternative-names.ts';
import type { KeyPairPem } from './certificates.ts';
import { pemBlocks, readCertificate } from './read-certificate.ts';
import { isIssuedBy } from './subject.ts';

const anyBlock = /-----BEGIN [A-Z0-9 ]+-----/;
const serverAuth = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';

/** As Go's tls.X509KeyPair refuses them; undefined: it is one. */
export function keyPairFault({ certificatePem, privateKeyPem }: KeyPairPem): string | undefined {
  const [leaf] = pemBlocks(certificatePem, 'CERTIFICATE');
  if (leaf === undefined)
    return anyBlock.test(certificatePem)
      ? 'tls: failed to find "CERTIFICATE" PEM block in certificate input'
      : 'tls: failed to find any PEM data in certificate input';
  if (!anyBlock.test(privateKeyPem)) return 'tls: failed to find any PEM data in key input';
  if (!/PRIVATE KEY-----/.test(privateKeyPem))
    return 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input';
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(leaf);
    readCertificate(leaf);
  } catch {
    return 'x509: malformed certificate';
  }
  try {
    const key = createPrivateKey(privateKeyPem);
    if (certificate.checkPrivateKey(key)) return undefined;
    return certificate.publicKey.asymmetricKeyType === key.asymmetricKeyType
      ? 'tls: private key does not match public key'
      : 'tls: private key type does not match public key type';
  } catch {
    return 'tls: failed to parse private key';
  }
}

/** From the leaf over what comes with it to whom the bundle names. A chain is as long as what is in the file. */
function leadsTo(chain: readonly Buffer[], authoritiesPem: string): boolean {
  const rest = new Set(chain.slice(1));
  for (let at = chain[0]; at !== undefined; ) {
    if (isIssuedBy(at, authoritiesPem)) return true;
    const child = at;
    at = [...rest].find((one) => isIssuedBy(child, one));
    if (at !== undefined) rest.delete(at);
  }
  return false;
}

/** Why clients that believe `authoritiesPem` would not believe who serves with it at these addresses; undefined: they would. */
export function servingFault(
  certificatePem: string,
  {
    authoritiesPem,
    ips,
    now,
  }: { readonly authoritiesPem: string; readonly ips: readonly string[]; readonly now: number },
): string | undefined {
  const chain = pemBlocks(certificatePem, 'CERTIFICATE');
  const leaf = readCertificate(chain[0]!);
  if (now < leaf.notBefore || now > leaf.notAfter) return 'x509: certificate has expired or is not yet valid';
  if (!leadsTo(chain, authoritiesPem)) return 'x509: certificate signed by unknown authority';
  const usages = leaf.extendedKeyUsages;
  if (usages.length > 0 && !usages.includes(serverAuth) && !usages.includes(anyUsage))
    return 'x509: certificate specifies an incompatible key usage';
  const missing = ips.map(shortestIp).find((ip) => !leaf.names.ips.includes(ip));
  if (missing === undefined) return undefined;
  return leaf.names.ips.length === 0
    ? `x509: cannot validate certificate for ${missing} because it doesn't contain any IP SANs`
    : `x509: certificate is valid for ${leaf.names.ips.join(', ')}, not ${missing}`;
}
