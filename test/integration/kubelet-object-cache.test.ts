// ConfigMaps of running pods across a restart of a server that has no history of before it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { createObjectCache } from '../../src/kubelet/object-cache.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';

const names = ['changes', 'stays'];
const usesAll = {
  metadata: { name: 'p', namespace: 'default', uid: 'u' },
  spec: { containers: [{ name: 'c', envFrom: names.map((name) => ({ configMapRef: { name } })) }] },
} as unknown as Pod;

/** A server whose store outlives it and remembers one change, and a client that goes over to the next one. */
async function restartable() {
  const storage = new MemoryStorage(systemClock, { freshMs: 0, minEvents: 1, maxEvents: 1, maxBytes: 1 });
  let server = await startTestControlPlane({ storage });
  let running = new AbortController();
  const requests: string[] = [];
  const clientOfNow = (): Client => server.controlPlane.clientFor(administrator);
  const asking: Pick<Client, 'get' | 'list' | 'watch'> = {
    get: (resource, key) => {
      requests.push(`get ${key.name}`);
      return clientOfNow().get(resource, key);
    },
    list: (resource, options) => {
      requests.push(`list ${options?.fieldSelector}`);
      return clientOfNow().list(resource, options);
    },
    async *watch(resource, options = {}) {
      requests.push(`watch ${options.fieldSelector}`);
      const signal = AbortSignal.any([running.signal, ...(options.signal ? [options.signal] : [])]);
      for await (const event of clientOfNow().watch(resource, { ...options, signal })) {
        if (event.type === 'ERROR') requests.push(`${event.object.code} ${options.fieldSelector}`);
        yield event;
      }
    },
  };
  return {
    client: asking as Client,
    requests,
    of: (name: string) => requests.filter((request) => request.includes(name)),
    write: (name: string, value: string) =>
      clientOfNow().patch(
        configmaps,
        { namespace: 'default', name },
        { type: 'apply', fieldManager: 'test', force: true, body: bodyOf(name, value) },
      ),
    /** What happens in `meanwhile` is not seen by any watch. */
    async restart(meanwhile: () => Promise<unknown>) {
      const before = running;
      running = new AbortController();
      running.abort(new Error('the server is away'));
      before.abort(new Error('the server ends'));
      await meanwhile();
      server = await startTestControlPlane({ storage, pki: server.pki });
      running = new AbortController();
    },
    close: () => server.close(),
  };
}
const bodyOf = (name: string, k: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { k },
});

test('a ConfigMap stays fresh over a restart that leaves no history, and one that nobody changes costs one list', async (t) => {
  const server = await restartable();
  for (const name of names) await server.write(name, 'old');
  const changed: (string | undefined)[] = [];
  // Waits between two tries are as short as they can be.
  const clock: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(1, signal) };
  const cache = createObjectCache({
    client: server.client,
    clock,
    random: systemRandom,
    log: silentLogger,
    changed: (uids) => void changed.push(...uids),
  });
  t.after(async () => {
    cache.stop();
    await server.close();
  });
  const keptOf = async (name: string) => (await cache.configMap('default', name))?.data?.['k'];
  const waitFor = (check: () => void) => t.waitFor(check, { timeout: 60_000 });

  cache.uses(usesAll);
  await waitFor(() => assert.equal(server.requests.filter((r) => r.startsWith('watch')).length, 2));
  assert.deepEqual(await Promise.all(names.map(keptOf)), ['old', 'old']);

  await server.restart(async () => {
    await server.write('changes', 'new');
    await server.write('unrelated', 'last');
  });
  await waitFor(() => assert.deepEqual(changed, ['u']));
  assert.deepEqual(await Promise.all(names.map(keptOf)), ['new', 'old']);

  // The watch of the other goes on, too: from a revision that this server knows.
  await waitFor(() => assert.equal(server.of('stays').at(-1), 'watch metadata.name=stays'));
  assert.ok(server.of('stays').includes('410 metadata.name=stays'), 'history was there');
  await server.write('stays', 'newer');
  await waitFor(() => assert.deepEqual(changed, ['u', 'u']));
  assert.equal(await keptOf('stays'), 'newer');
  assert.deepEqual(
    server.of('stays').filter((request) => !request.startsWith('watch')),
    ['list metadata.name=stays', '410 metadata.name=stays', 'list metadata.name=stays'],
  );
});
