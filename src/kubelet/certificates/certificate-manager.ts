// Keeps one certificate of a node good: asks for the next one by a CertificateSigningRequest before it ends.
import { certificatesigningrequests } from '../../api/generated/resources.ts';
import type { CertificateSigningRequest } from '../../api/generated/types/certificates-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createCertificateRequest } from '../../crypto/certificate-requests.ts';
import { certificateFacts, isPairOf } from '../../crypto/subject.ts';

/** Where the certificate in use lies, with its key in one PEM text. */
export interface CertificateStore {
  current(): string | undefined;
  /** All or nothing: a reader finds the old one or the new one. */
  replace(pem: string): void;
}

export interface CertificateManagerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: CertificateStore;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly request: Parameters<typeof createCertificateRequest>[0];
  /** A new certificate is in the store. */
  renewed(): void;
}

/** As upstream: how long an answer is waited for before it is asked again. */
const answerMs = 15 * 60_000;
const looks: Backoff = { firstMs: 100, longestMs: 5_000 };
const tries: Backoff = { firstMs: 1_000, longestMs: 60_000 };
/** Timers are not set for longer; the store may have changed by then anyway. */
const longestSleepMs = 3_600_000;

/** As upstream: at seven to nine tenths of its life, so that nodes of one day do not ask at one time. */
function renewalTime(pem: string, fraction: number): number {
  const { notBefore, notAfter } = certificateFacts(pem);
  return notBefore + (notAfter - notBefore) * (0.7 + 0.2 * fraction);
}

const isRefused = ({ status }: CertificateSigningRequest): string | undefined => {
  const found = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
  return found && `${found.type}: ${found.message ?? ''}`;
};

async function obtain(options: CertificateManagerOptions, signal: AbortSignal): Promise<string> {
  const { client, clock, log, signerName } = options;
  const { requestPem, privateKeyPem } = await createCertificateRequest(options.request);
  const { metadata } = await client.create(certificatesigningrequests, {
    metadata: { generateName: 'csr-' },
    spec: {
      request: Buffer.from(requestPem).toString('base64'),
      signerName,
      usages: [...options.usages],
    },
  });
  const { name } = metadata;
  const until = clock.monotonic() + answerMs;
  for (let looked = 1; clock.monotonic() < until; looked++) {
    const request = await client.get(certificatesigningrequests, { name }).catch((error: unknown) => {
      // Only a request that is gone is of no more use: for what it asks, the key is here alone.
      if (signal.aborted || isStatusError(error, 'NotFound')) throw error;
      log.debug({ error, name }, 'a certificate request could not be looked at');
      return undefined;
    });
    const refusal = request && isRefused(request);
    if (refusal !== undefined) throw new Error(`${name} is ${refusal}`);
    const { certificate = '' } = request?.status ?? {};
    if (certificate !== '') {
      const pem = Buffer.from(certificate, 'base64').toString('utf8');
      if (!isPairOf(pem, privateKeyPem)) throw new Error(`${name} was signed for another key`);
      return pem + privateKeyPem;
    }
    await clock.sleep(backoffMs(looks, looked), signal);
  }
  throw new Error(`${name} was neither approved nor signed in ${answerMs / 60_000} minutes`);
}

export function startCertificateManager(options: CertificateManagerOptions): { stop(): Promise<void> } {
  const { clock, random, log, store, signerName } = options;
  const ended = new AbortController();
  const { signal } = ended;
  /** How long the certificate in use needs no successor. */
  const rest = (fraction: number): number => {
    const pem = store.current();
    if (pem === undefined) return 0;
    try {
      return renewalTime(pem, fraction) - clock.now();
    } catch (error) {
      log.warn({ error, signerName }, 'the certificate in use cannot be read; another one is asked for');
      return 0;
    }
  };
  const run = async (): Promise<void> => {
    let failures = 0;
    let fraction = random.fraction();
    while (!signal.aborted) {
      const left = rest(fraction);
      if (left > 0) {
        await clock.sleep(Math.min(left, longestSleepMs), signal);
        continue;
      }
      try {
        store.replace(await obtain(options, signal));
        options.renewed();
        log.info({ signerName }, 'a new certificate is in use');
        failures = 0;
        fraction = random.fraction();
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ error, signerName }, 'no new certificate; it is asked for again');
        await clock.sleep(backoffMs(tries, ++failures), signal);
      }
    }
  };
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) log.error({ error, signerName }, 'certificates are renewed no more');
  });
  return {
    stop: async () => {
      ended.abort(new Error('the agent ends'));
      await running;
    },
  };
}
