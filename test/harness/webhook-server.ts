// A webhook as people write them: an HTTPS server of its own authority that answers each review as its test says.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';

export interface ReviewRequest {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly object: Record<string, never> | null;
  readonly oldObject: Record<string, never> | null;
  readonly [member: string]: unknown;
}

export interface AskedWebhook {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** As whom its certificate says that it is asked. */
  readonly commonName: string | undefined;
  readonly apiVersion: string;
  readonly request: ReviewRequest;
}

/** `response` without its uid; a function writes the answer itself. */
export type WebhookAnswer =
  | Readonly<Record<string, unknown>>
  | ((response: ServerResponse, asked: AskedWebhook) => void);

export interface WebhookServer {
  readonly url: string;
  readonly port: number;
  /** Base64 of PEM. */
  readonly caBundle: string;
  readonly asked: AskedWebhook[];
  /** Connections that are open now. */
  readonly open: () => number;
  /** How paths are answered; others are allowed. */
  readonly answers: Map<string, (asked: AskedWebhook) => WebhookAnswer | Promise<WebhookAnswer>>;
  close(): Promise<void>;
}

export const patchOf = (...operations: readonly object[]): { patchType: string; patch: string } => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

export async function startWebhookServer(
  names: { readonly dnsNames?: readonly string[]; readonly ips?: readonly string[] } = {},
): Promise<WebhookServer> {
  const lifetime = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCertificateAuthority({ commonName: 'webhook-ca', ...lifetime });
  const tls = await issueCertificate(ca, {
    commonName: 'webhook',
    usages: ['server'],
    dnsNames: ['localhost', 'webhook.hooks.svc', ...(names.dnsNames ?? [])],
    ips: ['127.0.0.1', ...(names.ips ?? [])],
    ...lifetime,
  });
  const asked: AskedWebhook[] = [];
  const answers: WebhookServer['answers'] = new Map();
  const answerTo = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { apiVersion, request } = JSON.parse(await bodyOf(incoming)) as Pick<
      AskedWebhook,
      'apiVersion' | 'request'
    >;
    const { subject } = (incoming.socket as TLSSocket).getPeerCertificate();
    const commonName = subject === undefined ? undefined : String(subject.CN);
    const one = { path: incoming.url ?? '', headers: incoming.headers, commonName, apiVersion, request };
    asked.push(one);
    const answer = (await answers.get(one.path.split('?', 1)[0]!)?.(one)) ?? { allowed: true };
    if (typeof answer === 'function') answer(response, one);
    else {
      const review = { apiVersion, kind: 'AdmissionReview', response: { uid: request.uid, ...answer } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    }
  };
  const server = createServer(
    { cert: tls.certificatePem, key: tls.privateKeyPem, requestCert: true, rejectUnauthorized: false },
    (incoming, response) => {
      answerTo(incoming, response).catch(() => response.destroy());
    },
  );
  let open = 0;
  server.on('secureConnection', (socket) => {
    open++;
    socket.on('error', () => {});
    socket.on('close', () => open--);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    caBundle: Buffer.from(ca.certificatePem).toString('base64'),
    asked,
    open: () => open,
    answers,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
