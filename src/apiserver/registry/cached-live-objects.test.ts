// What is asked of all objects at each write is worked out once for each of their versions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { createScheme } from '../../api/scheme.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { startTestServer } from '../testing/test-server.ts';
import { createLiveObjects } from './cached-live-objects.ts';

test('a summary of pods is made once for each version, and only for those of the namespace', async () => {
  const storage = new MemoryStorage(systemClock);
  const caches = await createCacheSource(storage, systemClock);
  const server = await startTestServer({ storage, caches });
  const live = createLiveObjects(createScheme(), caches);
  const path = '/api/v1/namespaces/default/pods';
  const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } });
  const write = async (method: string, url: string, body: object) => {
    const answer = await server.request(method, url, body, {
      headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    });
    assert.ok(answer.status < 300, answer.text);
  };
  for (const name of ['a', 'b']) await write('POST', path, pod(name));
  await write('POST', path.replace('default', 'other'), pod('c'));
  const asked: string[] = [];
  const name = ({ metadata }: Pod): string => {
    asked.push(metadata.name);
    return `${metadata.name}:${metadata.labels?.['l'] ?? ''}`;
  };
  assert.deepEqual(live.summaries(pods, 'default', name), ['a:', 'b:']);
  assert.deepEqual(live.summaries(pods, 'default', name), ['a:', 'b:']);
  assert.deepEqual(asked, ['a', 'b']);
  await write('PATCH', `${path}/a`, { metadata: { labels: { l: 'x' } } });
  assert.deepEqual(live.summaries(pods, 'default', name), ['a:x', 'b:']);
  assert.deepEqual(asked, ['a', 'b', 'a']);
  await server.close();
});
