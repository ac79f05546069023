// The server's own certificates while it runs: files that changed are taken up, certificates that are about to end are renewed.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Pki, ServerNames } from '../../controlplane/pki.ts';
import type { KeyPairPem } from '../../crypto/certificates.ts';
import { certificateFacts } from '../../crypto/subject.ts';
import type { NamedCertificate } from '../../wire/named-certificates.ts';

export interface ServerCredentials {
  readonly serving: KeyPairPem;
  /** For those who ask for their names. */
  readonly named: readonly NamedCertificate[];
  readonly kubeletClient: KeyPairPem;
  readonly frontProxyClient: KeyPairPem;
  readonly admin: KeyPairPem;
  /** What vouches for the server. */
  readonly rootCaPem: string;
  readonly kubeletServingCaPem: string;
  /** Everything that may vouch for a client of this server: its clients' authorities and the front proxy's. */
  readonly clientCaPem: string;
}

export async function readCredentials(pki: Pki, names: ServerNames): Promise<ServerCredentials> {
  return {
    serving: await pki.serving(names),
    named: pki.named?.() ?? [],
    kubeletClient: await pki.kubeletClient(),
    frontProxyClient: await pki.frontProxyClient(),
    admin: await pki.admin(),
    rootCaPem: pki.rootCaPem,
    kubeletServingCaPem: pki.kubeletServingCaPem,
    clientCaPem: `${pki.authorities.clientCa()}${pki.authorities.frontProxyCa()}`,
  };
}

export interface RotationOptions {
  readonly pki: Pki;
  readonly names: ServerNames;
  readonly clock: Clock;
  readonly log: Logger;
  readonly first: ServerCredentials;
  /** How often files and dates are looked at. */
  readonly everyMs: number;
  changed(now: ServerCredentials): void;
  /** After each look: what others are to know of the certificates. */
  looked(): Promise<void>;
}

/** Looks at files and dates until it is stopped. */
export function rotateServerCertificates(options: RotationOptions): { stop(): Promise<void> } {
  const { pki, clock, log } = options;
  let last = JSON.stringify(options.first);
  const ended = new AbortController();
  const warnOfAuthorities = (): void => {
    for (const { name, notAfter } of pki.endingAuthorities())
      log.warn(
        { name, notAfter: new Date(notAfter).toISOString() },
        'an authority ends soon: add its successor to the file, let all nodes and clients learn of it, then replace its key',
      );
  };
  const look = async (): Promise<void> => {
    pki.reload();
    const now = await readCredentials(pki, options.names);
    const text = JSON.stringify(now);
    if (text === last) return options.looked();
    last = text;
    options.changed(now);
    const { notAfter } = certificateFacts(now.serving.certificatePem);
    log.info({ servingUntil: new Date(notAfter).toISOString() }, 'new certificates are in use');
    warnOfAuthorities();
    await options.looked();
  };
  const run = async (): Promise<void> => {
    warnOfAuthorities();
    for (;;) {
      await clock.sleep(options.everyMs, ended.signal);
      // What is in use stays in use until something better can be read.
      await look().catch((error: unknown) => log.error({ error }, 'certificates were not renewed'));
    }
  };
  const running = run().catch((error: unknown) => {
    if (!ended.signal.aborted) throw error;
  });
  return {
    stop: async () => {
      ended.abort(new Error('the server ends'));
      await running;
    },
  };
}
