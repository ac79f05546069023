// Sends JSON to an HTTP server that a kubeconfig names, plain or over TLS: connections are kept, redirects are not followed.
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { boundHead } from './answer-head.ts';

export interface JsonPostOptions {
  /** With the path that is posted to. */
  readonly server: string;
  /** PEM. Default: whom the machine trusts. */
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  readonly token?: string | (() => Promise<string>) | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly tlsServerName?: string | undefined;
  readonly userAgent: string;
}

export interface JsonPost {
  /** Rejects unless it is answered with 2xx. */
  post(body: Buffer, signal: AbortSignal): Promise<void>;
  close(): void;
}

const maxHeaderBytes = 1 << 16;
const maxConnections = 32;
/** Of a refusal, for the log. */
const maxShownBytes = 1024;

export function jsonPost(options: JsonPostOptions): JsonPost {
  const url = new URL(options.server);
  const secure = url.protocol === 'https:';
  const agentOptions = { keepAlive: true, maxSockets: maxConnections };
  const agent = secure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const tls = {
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.cert === undefined ? {} : { cert: options.cert }),
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.tlsServerName === undefined ? {} : { servername: options.tlsServerName }),
    rejectUnauthorized: options.insecureSkipTlsVerify !== true,
  };
  return {
    async post(body, signal) {
      const { token } = options;
      const bearer = typeof token === 'function' ? await token() : token;
      const headers = {
        'content-type': 'application/json',
        'content-length': String(body.length),
        'user-agent': options.userAgent,
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      };
      const ask: RequestOptions = { method: 'POST', agent, headers, signal, maxHeaderSize: maxHeaderBytes };
      const response = await exchange(url, secure, { ...ask, ...(secure ? tls : {}) }, body);
      const code = response.statusCode ?? 0;
      const said = await beginning(response);
      if (code < 200 || code > 299) throw new Error(`${url.href} answered ${code}: ${said}`);
    },
    close: () => agent.destroy(),
  };
}

const exchange = (
  url: URL,
  secure: boolean,
  options: RequestOptions,
  body: Buffer,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = (secure ? httpsRequest : httpRequest)(url, options);
    boundHead(outgoing, maxHeaderBytes);
    outgoing.on('error', reject);
    outgoing.on('response', resolve);
    outgoing.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new Error(`${url.href} answered with an upgrade`));
    });
    outgoing.end(body);
  });

/** The rest is read and dropped, so that the connection may be used again; one that does not end is ended by the signal. */
async function beginning(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of response as AsyncIterable<Buffer>)
    if (text.length < maxShownBytes) text += part.toString('latin1');
  return text.slice(0, maxShownBytes);
}
