// One HTTP GET for a probe or a hook: no keep-alive, no certificate check, a bound on the body, upstream's error texts.
import * as http from 'node:http';
import * as https from 'node:https';

export interface HttpProbeRequest {
  readonly scheme: 'HTTP' | 'HTTPS';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly userAgent: string;
  readonly timeoutMs: number;
}

export interface HttpProbeResult {
  readonly status: number;
  readonly body: string;
  readonly location: string;
  /** Set when there was no answer. */
  readonly error?: string;
}

const maxBodyBytes = 10 * 1024;
/** Answers that Go's net/http takes and Node's strict parser does not: lines that end in LF alone, odd bytes in values. */
const lenient = { insecureHTTPParser: true, maxHeaderSize: 1 << 20 } as const;

const urlText = (r: HttpProbeRequest): string => {
  const host = r.host.includes(':') ? `[${r.host}]` : r.host;
  return `${r.scheme.toLowerCase()}://${host}:${r.port}${r.path.startsWith('/') ? r.path : `/${r.path}`}`;
};

function errorText(r: HttpProbeRequest, error: unknown): string {
  const code = (error as { code?: string }).code;
  const dial = `Get "${urlText(r)}": dial tcp ${r.host.includes(':') ? `[${r.host}]` : r.host}:${r.port}`;
  if (code === 'ECONNREFUSED') return `${dial}: connect: connection refused`;
  if (code === 'EHOSTUNREACH') return `${dial}: connect: no route to host`;
  if (code === 'ENETUNREACH') return `${dial}: connect: network is unreachable`;
  if (code === 'ECONNRESET') return `Get "${urlText(r)}": EOF`;
  return `Get "${urlText(r)}": ${error instanceof Error ? error.message : String(error)}`;
}

function headersOf(r: HttpProbeRequest): Record<string, string> {
  const headers: Record<string, string> = Object.assign(Object.create(null), {
    'user-agent': r.userAgent,
    accept: '*/*',
    connection: 'close',
  });
  for (const { name, value } of r.headers) headers[name.toLowerCase()] = value;
  return headers;
}

/** Never throws: what went wrong is in the result. */
export function probeHttp(r: HttpProbeRequest): Promise<HttpProbeResult> {
  return new Promise((resolve) => {
    const failed = (error: string): void => resolve({ status: 0, body: '', location: '', error });
    let whole = (): boolean => false;
    const library = r.scheme === 'HTTPS' ? https : http;
    const signal = AbortSignal.timeout(r.timeoutMs);
    try {
      const request = library.request(
        urlText(r),
        { method: 'GET', headers: headersOf(r), agent: false, rejectUnauthorized: false, signal, ...lenient },
        (response) => {
          whole = () => response.complete;
          const parts: Buffer[] = [];
          let size = 0;
          const done = (): void =>
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(parts).toString('utf8').slice(0, maxBodyBytes),
              location: response.headers.location ?? '',
            });
          response.on('data', (data: Buffer) => {
            parts.push(data);
            size += data.length;
            if (size > maxBodyBytes) request.destroy();
          });
          // What comes after the end of the body, as upstream, concerns nobody.
          response.on('end', done);
          response.on('close', () => {
            if (response.complete || size > maxBodyBytes) done();
            else failed('unexpected EOF');
          });
          response.on('error', () => undefined); // 'close' follows
        },
      );
      request.on('error', (error) => {
        if (whole()) return;
        failed(
          signal.aborted
            ? `Get "${urlText(r)}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`
            : errorText(r, error),
        );
      });
      request.end();
    } catch (error) {
      failed(errorText(r, error)); // a header or host that node:http refuses
    }
  });
}
