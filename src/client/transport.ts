// One exchange with an API server, as values; every client is a wrapper of a Transport.
import type { Http2Client, Http2Request, Http2Response } from '../wire/http2-client.ts';

export type TransportRequest = Http2Request;
export type TransportResponse = Http2Response;
/** What an HTTP/2 client does; the in-process transport does the same without a socket. */
export type Transport = Http2Client;

/** A body that is there already: whoever wants all of it need not wait for pieces. */
export class WholeBody implements AsyncIterable<Buffer> {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    yield this.bytes;
  }
}

/** The whole body; past `limitBytes` it throws rather than fill the memory. */
export async function readAll(body: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer): void => {
    size += chunk.length;
    if (size > limitBytes) throw new Error(`response body is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  };
  if (body instanceof WholeBody) take(body.bytes);
  else for await (const chunk of body) take(chunk);
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
