// A gRPC client whose server hangs, and comes back as another process at the same socket.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { createGrpcClient, type GrpcMethod, isGrpcError } from '../../src/wire/grpc-client.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const method: GrpcMethod<string, string> = {
  path: '/test.Echo/Say',
  encode: (text) => Buffer.from(text),
  decode: (bytes) => bytes.toString(),
};

async function startEcho(socket: string): Promise<Server> {
  const server = new Server();
  const definition = {
    path: method.path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: Buffer) => value,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (value: Buffer) => value,
    responseDeserialize: (bytes: Buffer) => bytes,
  };
  const say = (call: { request: Buffer }, done: (error: null, value: Buffer) => void): void =>
    done(null, call.request);
  server.addService({ Say: definition } as never, { Say: say } as never);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
    error ? reject(error) : resolve(),
  );
  await promise;
  return server;
}

test('a server that took a connection and says nothing is left for the one that listens in its place', async (t) => {
  const scratch = scratchDirectory('grpc');
  t.after(() => scratch.remove());
  const socket = join(scratch.path, 's.sock');
  const taken = new Set<Socket>();
  const hung = createServer((connection) => taken.add(connection)).listen(socket);
  await once(hung, 'listening');
  t.after(() => {
    for (const connection of taken) connection.destroy();
  });
  const client = createGrpcClient(systemClock, `unix://${socket}`);
  t.after(() => client.close());
  const say = (timeoutMs: number): Promise<string> =>
    client.unary(method, 'hello', { timeoutMs, waitForReady: true });
  const late = (error: unknown): boolean => isGrpcError(error, 'DeadlineExceeded');
  await assert.rejects(say(50), late);
  // It still has what it took.
  hung.close();
  rmSync(socket, { force: true });
  const server = await startEcho(socket);
  t.after(() => server.forceShutdown());
  assert.equal(await say(5_000), 'hello');
});
