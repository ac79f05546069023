// What a node says of itself when its runtime does not answer everything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../component-base/logger.ts';
import type { Cri } from '../../rpc-api/cri.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { runtimeHealth } from './runtime-health.ts';

test('a list of images that can not be sent keeps the last one, and the rest of the status goes on; what the node lacks besides is a problem of it', async () => {
  let tooLong = false;
  const cri = {
    runtime: {
      status: async () => ({
        status: { conditions: ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true })) },
      }),
    },
    images: {
      listImages: async () => {
        if (tooLong) throw new GrpcError('ListImages', 'ResourceExhausted', 'message larger than max');
        return [{ repoTags: ['example.com/x:1'], size: 7 }];
      },
    },
  } as unknown as Cri;
  let memoryAvailableBytes = 2;
  const lacking: string[] = [];
  const health = runtimeHealth({
    ctx: { cri, log: silentLogger },
    pleg: { healthy: () => ({ ok: true, message: '' }), stop: async () => undefined },
    stats: { usage: async () => ({ memoryAvailableBytes }) } as never,
    pressures: () => ['MemoryPressure'],
    more: () => lacking,
  });
  const images = [{ names: ['example.com/x:1'], sizeBytes: 7 }];
  assert.deepEqual((await health()).images, images);
  tooLong = true;
  memoryAvailableBytes = 1;
  assert.deepEqual(await health(), {
    problems: [],
    images,
    usage: { memoryAvailableBytes: 1 },
    pressures: ['MemoryPressure'],
  });
  lacking.push('sandbox image pause:1 is missing and could not be loaded');
  assert.deepEqual((await health()).problems, lacking);
});
