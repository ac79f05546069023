// One request after the other over one HTTP/2 connection: what comes is counted and forgotten.
import { type ClientHttp2Session, connect } from 'node:http2';
import type { Target } from './load-job.ts';

export interface Answer {
  readonly status: number;
  readonly bytes: number;
}
export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly accept?: string | undefined;
  readonly contentType?: string | undefined;
  readonly body?: string | undefined;
}
export type Connection = (ask: Ask) => Promise<Answer>;

/** `windowBytes`: what each stream may bring before it is read. */
export function session(target: Target, windowBytes?: number): ClientHttp2Session {
  const { ca, cert, key } = target;
  const settings = windowBytes === undefined ? {} : { settings: { initialWindowSize: windowBytes } };
  const opened = connect(target.origin, { ca, cert, key, ...settings });
  opened.setMaxListeners(0);
  return opened;
}

export function headersOf(target: Target, ask: Partial<Ask>): Record<string, string> {
  const { accept, body, contentType = body === undefined ? undefined : 'application/json' } = ask;
  return {
    ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
    ...(accept === undefined ? {} : { accept }),
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
  };
}

/** `answered` is told each status as soon as it comes: a watch has one long before its end. */
export function overHttp2(
  session: ClientHttp2Session,
  target: Target,
  answered: (status: number) => void = () => {},
): Connection {
  return (ask) =>
    new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': ask.method ?? 'GET',
        ':path': ask.path,
        ...headersOf(target, ask),
      });
      let status = 0;
      let bytes = 0;
      stream.on('response', (headers) => {
        status = Number(headers[':status']);
        answered(status);
      });
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      stream.on('end', () => resolve({ status, bytes }));
      stream.on('error', reject);
      stream.on('close', () => reject(new Error(`${ask.path}: closed before its end`)));
      stream.end(ask.body);
    });
}
