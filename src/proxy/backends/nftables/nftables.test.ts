// A change of one Service, however large, is a change: the table is not written anew for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../component-base/logger.ts';
import { createFakePacketFilter } from '../../../os/testing/fake-packet-filter.ts';
import type { Backend, Frontend } from '../../rule-set.ts';
import { createNftablesBackend } from './nftables.ts';

const backends = Array.from(
  { length: 150 },
  (_, i): Backend => ({ ip: `10.244.1.${i}`, port: 80, local: false }),
);
const frontend = (port: number): Frontend => ({
  ip: '10.96.0.1',
  protocol: 'tcp',
  port,
  source: 'cluster',
  backends,
  insideBackends: [],
  without: 'reject',
  affinitySeconds: 60,
  allowedSources: undefined,
  isClusterIP: true,
  portName: `p${port}/tcp`,
});

test('as many elements as a Service may have are added and removed as a change', async () => {
  const backend = createNftablesBackend(createFakePacketFilter(), '10.244.0.0/16', silentLogger);
  assert.equal(await backend.sync(), true);
  const frontends = Array.from({ length: 330 }, (_, i) => frontend(i + 1));
  backend.set('a/large', { service: 'a/large', frontends });
  assert.equal(await backend.sync(), false);
  backend.set('a/large', undefined);
  assert.equal(await backend.sync(), false);
});
