// A change of one Service, however large, is a change: the table is not written anew for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { silentLogger } from '../../../component-base/logger.ts';
import { createFakePacketFilter } from '../../../os/testing/fake-packet-filter.ts';
import { HeldRules } from '../../held-rules.ts';
import { stepSize } from '../../pace.ts';
import type { InSteps } from '../../proxy-backend.ts';
import type { Backend, Frontend, ServiceRules } from '../../rule-set.ts';
import { NftablesBackend } from './nftables.ts';

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

/** Does steps without pauses, and says how many there were. */
function counted(): { readonly inSteps: InSteps; taken(): number } {
  let steps = 0;
  return {
    inSteps: async (work) => {
      for (;;) {
        const { done, value } = work.next();
        if (done === true) return value;
        steps++;
      }
    },
    taken: () => {
      const since = steps;
      steps = 0;
      return since;
    },
  };
}

function start(filter = createFakePacketFilter(), { inSteps } = counted()) {
  const backend = new NftablesBackend({
    packetFilter: filter,
    tables: { keep: () => () => undefined, stop: async () => undefined },
    clusterCIDR: '10.244.0.0/16',
    clock: new FakeClock(),
    log: silentLogger,
    inSteps,
  });
  const held = new HeldRules();
  return {
    set: (service: string, rules: ServiceRules | undefined) => held.want(service, rules),
    change: async () => backend.change(await inSteps(held.changes())),
    replace: async () => {
      await inSteps(held.changes());
      await backend.replace(held.all());
    },
  };
}

test('as many elements as a Service may have are added and removed as a change', async () => {
  const filter = createFakePacketFilter();
  const backend = start(filter);
  await backend.replace();
  const frontends = Array.from({ length: 330 }, (_, i) => frontend(i + 1));
  backend.set('a/large', { service: 'a/large', frontends });
  await backend.change();
  backend.set('a/large', undefined);
  await backend.change();
  assert.deepEqual(
    filter.applied.map((text) => text.startsWith('add table')),
    [true, false, false],
  );
});

test('they are added, removed and written as a whole in steps: the kubelet answers between', async () => {
  const { inSteps, taken } = counted();
  const filter = createFakePacketFilter();
  const backend = start(filter, { inSteps, taken });
  await backend.replace();
  taken();
  const each = 49_000 / stepSize; // a step for so many elements, in each of the things that are done with all of them
  const frontends = Array.from({ length: 49_000 }, (_, i) => ({
    ...frontend(1 + (i % 50)),
    ip: `203.0.${(i / 50) >> 8}.${Math.trunc(i / 50) & 255}`,
    isClusterIP: false,
    affinitySeconds: 0,
    backends: [],
  }));
  backend.set('a/wide', { service: 'a/wide', frontends });
  await backend.change();
  assert.ok(taken() >= 4 * each, 'claimed, made, compared, written down');
  assert.equal(filter.applied.at(-1)!.match(/ : goto refuse/g)?.length, 49_000);
  await backend.replace();
  assert.ok(taken() >= 3 * each, 'made, put together, written down');
  assert.equal(filter.applied.at(-1)!.match(/ : goto refuse/g)?.length, 49_000);
  backend.set('a/wide', undefined);
  await backend.change();
  assert.ok(taken() >= 3 * each, 'released, compared, written down');
  assert.equal(filter.applied.at(-1)!.match(/ \. tcp \. /g)?.length, 49_000);
});

test('what one service gives up another has in the same change, whichever was changed first', async () => {
  const filter = createFakePacketFilter();
  const backend = start(filter);
  backend.set('a/first', { service: 'a/first', frontends: [frontend(80)] });
  backend.set('a/second', { service: 'a/second', frontends: [frontend(80), frontend(81)] });
  await backend.replace();
  backend.set('a/second', { service: 'a/second', frontends: [frontend(80)] });
  backend.set('a/first', { service: 'a/first', frontends: [frontend(82)] });
  await backend.change();
  const lines = filter.applied
    .at(-1)!
    .split('\n')
    .filter((line) => / element .* services /.test(line));
  assert.deepEqual(
    lines.map((line) => [line.split(' ')[0], line.match(/10\.96\.0\.1 \. tcp \. [0-9]+/g)]),
    [
      ['delete', ['10.96.0.1 . tcp . 81', '10.96.0.1 . tcp . 80']],
      ['add', ['10.96.0.1 . tcp . 80', '10.96.0.1 . tcp . 82']],
    ],
  );
});
