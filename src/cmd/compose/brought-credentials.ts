// A server's identity that somebody else made: its certificate, its clients' authority, the key of its tokens.
import type { Pki } from '../../controlplane/pki.ts';
import type { KeyPairPem } from '../../crypto/certificates.ts';
import { privateKeyFromPem } from '../../crypto/keys.ts';

/** What is undefined is the server's own. */
export interface BroughtCredentials {
  readonly serving: KeyPairPem | undefined;
  /** Vouches for clients, besides the server's own authority. */
  readonly clientCaPem: string | undefined;
  /** Vouches for front proxies, besides the server's own authority. */
  readonly frontProxyCaPem?: string | undefined;
  readonly serviceAccountKeyPem: string | undefined;
  /** As whom the server asks other API servers; asked again when its files may be others. */
  readonly frontProxyClient?: (() => KeyPairPem) | undefined;
}

/** Whoever brought something renews it: this server does not. */
export function withBrought(pki: Pki, brought: BroughtCredentials | undefined): Pki {
  if (brought === undefined) return pki;
  const { serving, clientCaPem = '', frontProxyCaPem = '', serviceAccountKeyPem, frontProxyClient } = brought;
  const instead: Partial<Pki> = {
    authorities: {
      ...pki.authorities,
      clientCa: () => [clientCaPem, pki.authorities.clientCa()].join('\n'),
      frontProxyCa: () => [frontProxyCaPem, pki.authorities.frontProxyCa()].join('\n'),
    },
    ...(serving && { serving: async () => serving }),
    ...(frontProxyClient && { frontProxyClient: async () => frontProxyClient() }),
    ...(serviceAccountKeyPem && { serviceAccountKey: privateKeyFromPem(serviceAccountKeyPem) }),
  };
  // What is read anew in the files stays so: the rest is inherited, not copied.
  return Object.assign(Object.create(pki) as Pki, instead);
}
