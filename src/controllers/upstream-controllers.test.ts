// Which controllers run: the list beside the registry, and what --controllers makes of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allControllers } from './registry.ts';
import { disabledControllers, ownControllers, upstreamControllers } from './upstream-controllers.ts';

const running = allControllers({
  rootCa: { now: () => '' },
  clusterCIDRs: [],
  storageVersionMigrator: true,
  loadBalancerRange: '203.0.113.0/24',
}).map(({ name }) => name);

test('every controller of upstream runs here, or says why not', () => {
  const present = upstreamControllers.filter(({ absent }) => absent === undefined).map(({ name }) => name);
  assert.deepEqual([...present, ...ownControllers].sort(), [...running].sort());
});

test('all run by default; one may be left out, or all but one', () => {
  assert.deepEqual(disabledControllers([]), []);
  assert.deepEqual(disabledControllers(['*', 'bootstrapsigner', 'tokencleaner']), []);
  assert.deepEqual(disabledControllers(['*', '-job', '-ttl-controller']), [
    'job-controller',
    'ttl-controller',
  ]);
  const others = disabledControllers(['deployment-controller', '-job']);
  assert.equal(others.length, running.length - 1);
  assert.ok(!others.includes('deployment-controller'));
  assert.deepEqual(disabledControllers(['*', '-job', 'job-controller']), ['job-controller']);
});

test('a name that is none is refused, and so is one that can not run', () => {
  assert.throws(() => disabledControllers(['*', 'jobs']), {
    message: "'jobs' is not in the list of known controllers",
  });
  assert.throws(() => disabledControllers(['*', 'node-route-controller']), {
    message: "'node-route-controller' does not run here: there is no cloud",
  });
  assert.deepEqual(disabledControllers(['*', '-node-route-controller']), []);
});
