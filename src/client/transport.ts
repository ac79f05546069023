// One exchange with an API server, as values; every client is a wrapper of a Transport.

export interface TransportRequest {
  readonly method: string;
  /** Path with query: `/api/v1/pods?limit=5`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Until the response's headers; a stream may then last. 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Ends early, without an error, when the request's signal is aborted. */
  readonly body: AsyncIterable<Buffer>;
}

export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** The whole body; past `limitBytes` it throws rather than fill the memory. */
export async function readAll(body: AsyncIterable<Buffer>, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limitBytes) throw new Error(`response body is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
