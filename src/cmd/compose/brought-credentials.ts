// A server's identity that somebody else made: its certificates, its clients' authority, the key of its tokens.
import type { Pki, ServerNames } from '../../controlplane/pki.ts';
import type { KeyPairPem } from '../../crypto/certificates.ts';
import { privateKeyFromPem } from '../../crypto/keys.ts';
import type { NamedCertificate } from '../../wire/named-certificates.ts';

/** What was not taken up: what was there before holds. */
export type NotTaken = (error: unknown) => void;

/** Asked again when its files may be others. Throws at first, for files that are not what their flags say. */
type Reread<T> = (notTaken: NotTaken) => T;

/** What is undefined is the server's own. */
export interface BroughtCredentials {
  /** `believed`: whom the cluster's own clients believe. */
  readonly serving: ((names: ServerNames, believed: string, notTaken: NotTaken) => KeyPairPem) | undefined;
  /** For those who ask for their names. */
  readonly named?: Reread<readonly NamedCertificate[]> | undefined;
  /** Vouches for the server's certificate, besides the server's own authority. */
  readonly rootCaPem?: string | undefined;
  /** Vouches for clients, besides the server's own authority. */
  readonly clientCaPem: string | undefined;
  /** Vouches for front proxies, besides the server's own authority. */
  readonly frontProxyCaPem?: string | undefined;
  /** Vouches for kubelets, besides the server's own authority. */
  readonly kubeletServingCaPem?: Reread<string> | undefined;
  /** As whom the server asks kubelets. `believed`: whom they believe. */
  readonly kubeletClient?: ((believed: string, notTaken: NotTaken) => KeyPairPem) | undefined;
  readonly serviceAccountKeyPem: string | undefined;
  /** As whom the server asks other API servers. */
  readonly frontProxyClient?: Reread<KeyPairPem> | undefined;
}

const joined = (brought: string | undefined, own: string): string =>
  brought === undefined ? own : `${brought}\n${own}`;

/** Whoever brought something renews it: this server does not. */
export function withBrought(
  pki: Pki,
  brought: Partial<BroughtCredentials> | undefined,
  notTaken: NotTaken = () => {},
): Pki {
  if (brought === undefined) return pki;
  const { serving, named, clientCaPem, frontProxyCaPem, serviceAccountKeyPem, frontProxyClient } = brought;
  const { rootCaPem, kubeletServingCaPem, kubeletClient } = brought;
  const instead: Pki = {
    ...pki,
    get caCertificatePem() {
      return pki.caCertificatePem;
    },
    get rootCaPem() {
      return joined(rootCaPem, pki.rootCaPem);
    },
    get kubeletServingCaPem() {
      return joined(kubeletServingCaPem?.(notTaken), pki.kubeletServingCaPem);
    },
    authorities: {
      clientCa: () => joined(clientCaPem, pki.authorities.clientCa()),
      frontProxyCa: () => joined(frontProxyCaPem, pki.authorities.frontProxyCa()),
    },
    ...(serving && { serving: async (names) => serving(names, instead.rootCaPem, notTaken) }),
    ...(named && { named: () => named(notTaken) }),
    ...(kubeletClient && {
      kubeletClient: async () => kubeletClient(pki.caCertificatePem, notTaken),
    }),
    ...(frontProxyClient && { frontProxyClient: async () => frontProxyClient(notTaken) }),
    ...(serviceAccountKeyPem && { serviceAccountKey: privateKeyFromPem(serviceAccountKeyPem) }),
  };
  return instead;
}
