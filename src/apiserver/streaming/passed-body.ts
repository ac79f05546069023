// The body of a request on its way to another server: as it comes, however long it is.
import type { ApiRequest, PullBody } from '../http.ts';
import { maxBodyBytes } from '../registry/decode-body.ts';

export interface PassedBody {
  readonly body: Buffer | PullBody;
  /** How it tells where it ends. */
  readonly framing: Readonly<Record<string, string>>;
}

const lengthOf = ({ headers }: ApiRequest): string | undefined => {
  const { 'content-length': said, 'transfer-encoding': coding } = headers;
  return coding === undefined && typeof said === 'string' && /^\d{1,15}$/.test(said) ? said : undefined;
};

/** undefined: it has none. */
export async function passedBody(request: ApiRequest): Promise<PassedBody | undefined> {
  if (request.streamBody === undefined) {
    const body = await request.readBody(maxBodyBytes);
    return body.length === 0 ? undefined : { body, framing: { 'content-length': String(body.length) } };
  }
  const length = lengthOf(request);
  const body = request.streamBody();
  if (body === undefined) return undefined;
  // Without either, node:http would end a GET's body by the connection's end.
  return {
    body,
    framing: length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length },
  };
}
