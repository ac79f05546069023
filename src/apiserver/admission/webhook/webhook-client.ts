// Asks a webhook, by its URL or through its Service, until it answers, its time is over or nobody waits any more.
import type { Clock } from '../../../base/clock.ts';
import { hostPort } from '../../../base/ip.ts';
import type { AskedAs, CredentialsFor } from '../../../client/webhook-credentials.ts';
import {
  type HttpsAnswer,
  HttpsClient,
  type HttpsTarget,
  NoAnswerError,
} from '../../../wire/https-client.ts';
import { maxBodyBytes } from '../../registry/decode-body.ts';

/** `clientConfig` of whatever names a webhook. */
export interface WebhookAddress {
  readonly url?: string | undefined;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string | undefined;
        readonly port?: number | undefined;
      }
    | undefined;
  /** PEM in base64. */
  readonly caBundle?: string | undefined;
}

export interface ServiceEndpoint {
  readonly host: string;
  readonly port: number;
}

/** An address behind a port of a Service. Throws Error in upstream's words. */
export type ServiceResolver = (namespace: string, name: string, port: number) => ServiceEndpoint;

export interface WebhookQuestion {
  readonly body: Buffer | string;
  readonly timeoutMs: number;
  /** Ends the wait before. */
  readonly signal: AbortSignal;
  /** As whom it is asked. Default: as nobody. */
  readonly credentials?: CredentialsFor | undefined;
}

export interface WebhookClient {
  /** Throws Error with upstream's text. */
  ask(address: WebhookAddress, question: WebhookQuestion): Promise<HttpsAnswer>;
  close(): void;
}

/** One webhook that hangs must not take the places of all others. */
const maxConnections = 32;
const maxAllConnections = 256;

interface Place {
  readonly target: HttpsTarget;
  /** Its name and port, by which credentials are found. */
  readonly server: string;
  /** As the webhook is told whom it is. */
  readonly host: string;
  readonly path: string;
}

/** The configuration itself is why nobody can be asked. */
export class UnusableAddressError extends Error {}

/** Of base64; undefined when nobody is named. */
export function authorityOf(caBundle: string | undefined): string | undefined {
  if (caBundle === undefined || caBundle === '') return undefined;
  const pem = Buffer.from(caBundle, 'base64').toString();
  if (!pem.includes('-----BEGIN '))
    throw new UnusableAddressError('unable to load root certificates: unable to parse bytes as PEM block');
  return pem;
}

/** As upstream's client joins paths: none ends in a slash, or has an empty part. */
const cleanPath = (path: string): string => `/${path.split('/').filter(Boolean).join('/')}`;

interface KnownPlace extends Omit<Place, 'target'> {
  /** A Service's is looked up each time. */
  target(resolve: ServiceResolver): HttpsTarget;
}

/** Read once for each configuration: certificates and addresses are texts. */
const places = new WeakMap<WebhookAddress, KnownPlace>();

function placeOf(address: WebhookAddress): KnownPlace {
  let place = places.get(address);
  if (place === undefined) {
    place = readPlace(address);
    places.set(address, place);
  }
  return place;
}

function readPlace(address: WebhookAddress): KnownPlace {
  const ca = authorityOf(address.caBundle);
  const { service, url } = address;
  if (service !== undefined) {
    const { namespace, name, port = 443, path = '' } = service;
    const serverName = `${name}.${namespace}.svc`;
    return {
      target: (resolve) => ({ ...resolve(namespace, name, port), serverName, ca }),
      server: hostPort(serverName, port),
      host: hostPort(serverName, port),
      path: cleanPath(path),
    };
  }
  const { hostname, port, host, pathname } = new URL(url ?? '');
  const target = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port), ca };
  const server = hostPort(target.host, target.port);
  return { target: () => target, server, host, path: cleanPath(pathname) };
}

async function askedAs({ server }: KnownPlace, credentials: CredentialsFor): Promise<AskedAs> {
  try {
    return (await credentials(server)) ?? { headers: {} };
  } catch (error) {
    throw new UnusableAddressError((error as Error).message, { cause: error });
  }
}

/** Go tells a context's end like this. */
class ContextError extends Error {}

export function createWebhookClient(deps: {
  readonly clock: Clock;
  readonly resolve: ServiceResolver;
  readonly userAgent: string;
  readonly maxAnswerBytes?: number;
}): WebhookClient {
  const { clock, resolve, userAgent, maxAnswerBytes = maxBodyBytes } = deps;
  const https = new HttpsClient({ maxAnswerBytes, maxConnections, maxAllConnections });
  return {
    async ask(address, { body, timeoutMs, signal, credentials }) {
      const place = placeOf(address);
      const as = credentials && (await askedAs(place, credentials));
      const path = `${place.path}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
      const ended = new AbortController();
      const stop = clock.timer(timeoutMs, () => ended.abort(new ContextError('context deadline exceeded')));
      const leave = (): void => ended.abort(new ContextError('context canceled'));
      signal.addEventListener('abort', leave, { once: true });
      if (signal.aborted) leave();
      try {
        const target = place.target(resolve);
        return await https.ask(as?.client === undefined ? target : { ...target, client: as.client }, {
          method: 'POST',
          path,
          headers: {
            host: place.host,
            'content-type': 'application/json',
            accept: 'application/json, */*',
            'user-agent': userAgent,
            ...as?.headers,
          },
          body,
          signal: ended.signal,
        });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new NoAnswerError(`Post ${JSON.stringify(`https://${place.host}${path}`)}: ${why}`, {
          cause: error,
        });
      } finally {
        stop();
        signal.removeEventListener('abort', leave);
      }
    },
    close: () => https.close(),
  };
}
