// The floor of the API benchmarks: a bare server that does the least that could be called the same work.
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

const [certFile, keyFile, answerFile, logFile] = process.argv.slice(2) as [string, string, string, string];
const answer = readFileSync(answerFile);
const watchers = new Set<ServerHttp2Stream>();
const log = openSync(logFile, 'w');
process.on('exit', () => closeSync(log));

// Group commit: what comes while a sync is under way is written and synced together after it.
let waiting: { readonly bytes: Buffer; done(): void }[] = [];
let syncing = false;
function commit(): void {
  if (syncing || waiting.length === 0) return;
  syncing = true;
  const batch = waiting;
  waiting = [];
  writeSync(log, Buffer.concat(batch.map((entry) => entry.bytes)));
  fdatasync(log, () => {
    syncing = false;
    for (const entry of batch) entry.done();
    commit();
  });
}
const durable = (bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    waiting.push({ bytes, done: resolve });
    setImmediate(commit);
  });

/** Parse, stamp, encode, sync, answer; then tell the watchers. */
async function write(body: Buffer): Promise<Buffer> {
  const object = JSON.parse(body.toString()) as { metadata?: Record<string, unknown> };
  object.metadata = { ...object.metadata, resourceVersion: '1' };
  const bytes = Buffer.from(JSON.stringify(object));
  await durable(bytes);
  if (watchers.size > 0) {
    const event = Buffer.concat([Buffer.from('{"type":"ADDED","object":'), bytes, Buffer.from('}\n')]);
    for (const watcher of watchers) watcher.write(event);
  }
  return bytes;
}

/** A long answer goes in pieces. */
const pieceBytes = 1 << 20;
const json = { 'content-type': 'application/json' };
const tls = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const http2 = createSecureServer(tls);
http2.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  stream.on('error', () => watchers.delete(stream));
  if (headers[':method'] !== 'GET') {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', async () => {
      const bytes = await write(Buffer.concat(chunks));
      stream.respond({ ':status': 200, ...json });
      stream.end(bytes);
    });
  } else if (headers[':path']?.includes('watch=')) {
    stream.respond({ ':status': 200, ...json });
    watchers.add(stream);
  } else {
    stream.respond({ ':status': 200, ...json });
    for (let at = 0; at + pieceBytes < answer.length; at += pieceBytes) {
      stream.write(answer.subarray(at, at + pieceBytes));
    }
    stream.end(answer.subarray(answer.length - (answer.length % pieceBytes || pieceBytes)));
  }
});
const http1 = createServer(tls, async (request, response) => {
  const bytes = request.method === 'GET' ? answer : await write(await buffer(request));
  response.writeHead(200, { ...json, 'content-length': bytes.length });
  response.end(bytes);
});
const listen = (server: typeof http1 | typeof http2): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
process.stdout.write(`${JSON.stringify({ h2: await listen(http2), 'http/1.1': await listen(http1) })}\n`);
