// The controllers' process dies at a write: at each one of each controller, before it was done and after. Another process goes on,
// and what there is at the end is what there would have been.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calmLife, liveThrough, startMachine } from './controller-lives.ts';

const controllers = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'daemon-set-controller',
  'job-controller',
  'resource-claim-controller',
  'endpoint-controller',
  'endpointslice-controller',
  'generic-garbage-collector',
  'namespace-controller',
];
/** All of some 600, or one of these many: a step that is prime to 2 meets both moments. */
const all = process.env.PORTHOLE_ALL_CRASHES !== undefined;
const everyNth = 13;

test('controllers that die at any of their writes leave what others finish', async (t) => {
  const first = await startMachine(t);
  const { stages, writes } = await calmLife(first);
  assert.deepEqual(stages[2], []);
  for (const controller of controllers) assert.ok(writes.has(controller), `${controller} wrote nothing`);
  const crashes = [...writes]
    .flatMap(([controller, count]) => Array.from({ length: count }, (_, i) => ({ controller, nth: i + 1 })))
    .flatMap((one) => (['before', 'after'] as const).map((moment) => ({ ...one, moment })))
    .filter((_, i) => all || i % everyNth === 0);
  const machines = [first, ...(await Promise.all([1, 2, 3, 4, 5, 6, 7].map(() => startMachine(t))))];
  const left = crashes.values();
  let struck = 0;
  await Promise.all(
    machines.map(async (machine) => {
      for (const crash of left) {
        const namespace = `${crash.controller.slice(0, 40)}-${crash.nth}-${crash.moment}`;
        if (await liveThrough(machine, { namespace, crash }, stages)) struck++;
      }
    }),
  );
  // How often a controller writes is not the same in every life.
  assert.ok(struck > crashes.length * 0.7, `${struck} of ${crashes.length} struck`);
  const total = [...writes.values()].reduce((sum, count) => sum + count, 0);
  t.diagnostic(`${struck} crashes of ${2 * total} (${total} writes of ${writes.size} controllers)`);
});
