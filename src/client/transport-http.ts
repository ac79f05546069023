// The transport to a server over TLS and HTTP/2, with the client's credentials.
import type { Clock } from '../base/clock.ts';
import { withoutTrailing } from '../base/without-trailing.ts';
import { type ClientTls, createHttp2Client } from '../wire/http2-client.ts';
import type { Transport } from './transport.ts';

export interface HttpTransportOptions {
  /** `https://host:port`, with an optional path prefix. */
  readonly server: string;
  /** PEM. */
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** A bearer token, or where to read a fresh one: projected tokens are rotated on disk. */
  readonly token?: string | (() => Promise<string>) | undefined;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  readonly tlsServerName?: string | undefined;
  readonly pingIntervalMs?: number | undefined;
  /** Until the server has shown its certificate. */
  readonly connectTimeoutMs?: number | undefined;
}

export interface HttpTransport extends Transport {
  /** Certificates that were renewed: for new requests, without an end of what is under way. */
  setTls(tls: ClientTls): void;
}

export function httpTransport(clock: Clock, options: HttpTransportOptions): HttpTransport {
  const url = new URL(options.server);
  const prefix = withoutTrailing(url.pathname, '/');
  const http2 = createHttp2Client(clock, {
    origin: url.origin,
    ca: options.ca,
    cert: options.cert,
    key: options.key,
    insecureSkipTlsVerify: options.insecureSkipTlsVerify,
    serverName: options.tlsServerName,
    pingIntervalMs: options.pingIntervalMs,
    connectTimeoutMs: options.connectTimeoutMs,
  });
  const { token } = options;
  return {
    async request(request) {
      const bearer = typeof token === 'function' ? await token() : token;
      const headers =
        bearer === undefined ? request.headers : { ...request.headers, authorization: `Bearer ${bearer}` };
      return http2.request({ ...request, path: prefix + request.path, headers });
    },
    close: () => http2.close(),
    setTls: (tls) => http2.setTls(tls),
  };
}
