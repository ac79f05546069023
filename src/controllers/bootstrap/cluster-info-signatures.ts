// Signatures of the cluster's public kubeconfig by bootstrap tokens: whoever has a token knows that it is the one that was meant. Pure.
import type { SigningToken } from '../../component-helpers/bootstrap-token.ts';
import { hmacSha256 } from '../../crypto/digests.ts';

const signaturePrefix = 'jws-kubeconfig-';
const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString('base64url');

/** A JWS (HS256) whose payload is left out: kubeadm puts the kubeconfig there that it has got. */
export function detachedSignature(content: string, { id, secret }: SigningToken): string {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: id }));
  return `${header}..${base64url(hmacSha256(secret, `${header}.${base64url(content)}`))}`;
}

/** The data of cluster-info with a signature for each token and no other; undefined when it has them, or nothing to sign. */
export function signedData(
  data: Readonly<Record<string, string>>,
  tokens: readonly SigningToken[],
): Record<string, string> | undefined {
  const content = data['kubeconfig'];
  if (content === undefined) return undefined;
  const others = Object.entries(data).filter(([key]) => !key.startsWith(signaturePrefix));
  const signatures = tokens.map(
    (token) => [`${signaturePrefix}${token.id}`, detachedSignature(content, token)] as const,
  );
  const wanted = Object.fromEntries([...others, ...signatures]);
  const isSame =
    Object.keys(wanted).length === Object.keys(data).length &&
    Object.entries(wanted).every(([key, value]) => data[key] === value);
  return isSame ? undefined : wanted;
}
