// The registry is the folder, and whatever it makes is a data plane.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createFakePacketFilter } from '../../os/testing/fake-packet-filter.ts';
import { proxyBackends } from './registry.ts';

test('each folder is a driver in the registry, which takes all rules and then a change', async () => {
  const here = readdirSync(fileURLToPath(new URL('.', import.meta.url)), { withFileTypes: true });
  const folders = here.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  assert.deepEqual(Object.keys(proxyBackends).sort(), folders.sort());
  for (const make of Object.values(proxyBackends)) {
    const backend = make({
      packetFilter: createFakePacketFilter(),
      tables: { keep: () => () => undefined, stop: async () => undefined },
      clusterCIDR: '10.244.0.0/16',
      clock: new FakeClock(),
      log: silentLogger,
    });
    const rules = { service: 'd/web', frontends: [] };
    await backend.replace([rules]);
    await backend.change([{ service: 'd/web', before: rules, after: undefined }]);
  }
});
