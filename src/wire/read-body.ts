// Reads a whole request body with a bound on its size and on the time it may take.
import type { Readable } from 'node:stream';
import { BodyTooLargeError } from './http-message.ts';

/** Longest time a client may take to send its body, as upstream's request timeout. */
const bodyTimeoutMs = 60_000;

export function readBody(stream: Readable, limit: number, declared: string | undefined): Promise<Buffer> {
  if (declared !== undefined && Number(declared) > limit) {
    stream.resume();
    return Promise.reject(new BodyTooLargeError(limit));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => finish(new Error('timed out reading the request body')), bodyTimeoutMs);
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      stream.off('data', onData);
      if (error) {
        stream.resume();
        reject(error);
      } else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) finish(new BodyTooLargeError(limit));
      else chunks.push(chunk);
    };
    stream.on('data', onData);
    stream.once('end', () => finish());
    stream.once('error', (error) => finish(error));
    stream.once('close', () => {
      if (!stream.readableEnded) finish(new Error('the client closed the connection before the body ended'));
    });
  });
}
