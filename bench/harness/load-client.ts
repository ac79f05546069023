// The load client: a process of its own, so that its CPU is not the server's. A job on standard input, a result on standard output.
import type { ClientHttp2Session } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from '../bench.ts';
import { type Ask, type Connection, headersOf, overHttp2, session } from './connection.ts';
import type { FanOut, LoadJob, LoadResult, Requests, Target } from './load-job.ts';
import { cpuMicros } from './process-cost.ts';

/** As much at once as a list of 10,000 pods needs. */
const windowBytes = 16 * 1024 * 1024;

function overHttp1(target: Target): Connection {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: target.ca,
    cert: target.cert,
    key: target.key,
  });
  return (ask) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...headersOf(target, ask),
        ...(ask.body === undefined ? {} : { 'content-length': Buffer.byteLength(ask.body) }),
      };
      const request = httpsRequest(
        new URL(ask.path, target.origin),
        { agent, method: ask.method, headers },
        (response) => {
          let bytes = 0;
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }));
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end(ask.body);
    });
}

async function due(at: number): Promise<void> {
  const left = at - performance.now();
  if (left > 0) await delay(left);
}

async function requests(target: Target, work: Requests): Promise<LoadResult> {
  const connections = Array.from({ length: work.connections }, () =>
    work.protocol === 'h2' ? overHttp2(session(target, windowBytes), target) : overHttp1(target),
  );
  const from = work.from ?? 0;
  let next = from;
  let bytes = 0;
  const took: number[] = [];
  const ask = (i: number): Ask => ({
    method: work.method,
    path: work.path.replaceAll('{i}', String(work.names === undefined ? i : i % work.names)),
    contentType: work.contentType,
    body: work.body?.replaceAll('{i}', String(i)),
  });
  const drain = async (connection: Connection): Promise<void> => {
    while (next < from + work.total) {
      const i = next++;
      if (work.perSecond !== undefined) await due(started + ((i - from) * 1_000) / work.perSecond);
      const before = performance.now();
      const answer = await connection(ask(i));
      took.push(performance.now() - before);
      bytes += answer.bytes;
      if (answer.status >= 300) throw new Error(`${work.method} ${ask(i).path}: ${answer.status}`);
    }
  };
  // Handshakes are not part of the work.
  await Promise.all(connections.map((connection) => connection({ path: '/readyz' })));
  const cpu = cpuMicros(target.pid);
  const started = performance.now();
  await Promise.all(connections.map(drain));
  return {
    count: work.total,
    cpuMicros: cpuMicros(target.pid) - cpu,
    wallMs: performance.now() - started,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    bytes,
  };
}

async function fanOut(target: Target, work: FanOut): Promise<LoadResult> {
  let lines = 0;
  let bytes = 0;
  const wanted = work.connections * work.watchersPerConnection * work.events;
  let finished = (): void => undefined;
  const all = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const open = (from: ClientHttp2Session): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = from.request({
        ':path': work.watchPath,
        ...headersOf(target, {}),
      });
      stream.on('response', () => resolve());
      stream.on('error', reject);
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
        if (lines >= wanted) finished();
      });
    });
  for (let i = 0; i < work.connections; i++) {
    const watching = session(target, windowBytes);
    await Promise.all(Array.from({ length: work.watchersPerConnection }, () => open(watching)));
  }
  const create = overHttp2(session(target, windowBytes), target);
  const took: number[] = [];
  let next = 0;
  const creator = async (): Promise<void> => {
    while (next < work.events) {
      const body = work.body.replaceAll('{i}', String(next++));
      const before = performance.now();
      const { status } = await create({
        method: 'POST',
        path: work.createPath,
        contentType: 'application/json',
        body,
      });
      if (status >= 300) throw new Error(`POST ${work.createPath}: ${status}`);
      took.push(performance.now() - before);
    }
  };
  const cpu = cpuMicros(target.pid);
  const started = performance.now();
  await Promise.all(Array.from({ length: work.creators }, creator));
  await all;
  return {
    count: wanted,
    cpuMicros: cpuMicros(target.pid) - cpu,
    wallMs: performance.now() - started,
    p50Ms: quantile(took, 0.5),
    p99Ms: quantile(took, 0.99),
    bytes,
  };
}

const { target, work } = JSON.parse(await text(process.stdin)) as LoadJob;
const result = await (work.kind === 'requests' ? requests(target, work) : fanOut(target, work));
process.stdout.write(JSON.stringify(result));
process.exit(0);
