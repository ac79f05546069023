// A service of somebody else, reached by HTTPS on this machine, with an authority of its own.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';

export interface ServiceAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface HttpsService {
  readonly url: string;
  readonly caPem: string;
  /** `METHOD path` of each request that came. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** `answer` is given what was asked, with the body as JSON if there was one; never answering is an answer too. */
export async function startHttpsService(
  answer: (method: string, path: string, body: unknown) => ServiceAnswer | Promise<ServiceAnswer>,
): Promise<HttpsService> {
  const [notBefore, notAfter] = [Date.now() - 60_000, Date.now() + 3_600_000];
  const ca = await createCertificateAuthority({ commonName: 'service-ca', notBefore, notAfter });
  const pair = await issueCertificate(ca, {
    commonName: 'service',
    usages: ['server'],
    ips: ['127.0.0.1'],
    notBefore,
    notAfter,
  });
  const asked: string[] = [];
  const server = createServer(
    { cert: pair.certificatePem, key: pair.privateKeyPem },
    async (request, response) => {
      const { method = '', url = '' } = request;
      asked.push(`${method} ${url}`);
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const text = Buffer.concat(parts).toString();
      const {
        status = 200,
        headers = {},
        body,
      } = await answer(method, url, text === '' ? undefined : JSON.parse(text));
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: ca.certificatePem,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
