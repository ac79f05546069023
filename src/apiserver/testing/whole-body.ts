// Reads an answer's body to its end, also one that is made while it is read. A watch has none.
import { type ApiBody, isPullBody } from '../http.ts';

export async function wholeBody(body: ApiBody): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(body)) return body;
  if (!isPullBody(body)) return Buffer.concat(body);
  const parts: Buffer[] = [];
  for (;;) {
    const part = body.pull(64 * 1024);
    if (part === null) return Buffer.concat(parts);
    if (part === undefined) await new Promise<void>((resolve) => body.onReady(resolve));
    else parts.push(part);
  }
}
