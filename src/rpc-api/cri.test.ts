// What the runtime is asked for, over a client that records it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GrpcClient } from '../wire/grpc-client.ts';
import { createCri } from './cri.ts';

test('a stop waits as long as its grace period says, and never longer than a time.Duration holds', async () => {
  const sent: unknown[] = [];
  const client = {
    unary: async (
      _: unknown,
      request: { readonly timeout: number },
      options: { readonly timeoutMs: number },
    ) => {
      sent.push([request.timeout, options.timeoutMs]);
      return {};
    },
  } as unknown as GrpcClient;
  const { runtime } = createCri(client);
  await runtime.stopContainer('id', 30);
  await runtime.stopContainer('id', Number(2n ** 63n - 1n));
  assert.deepEqual(sent, [
    [30, 150_000],
    [9_223_372_036, 9_223_372_156_000],
  ]);
  // gRPC refuses a deadline that is no date.
  assert.ok(!Number.isNaN(new Date(Date.now() + 9_223_372_156_000).getTime()));
});
