// GET /porthole/backup holds every Secret: only who may do everything gets it, by whatever role that is given.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupHandler, backupPath } from '../../src/cmd/compose/backup-endpoint.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
const everyPath = { nonResourceURLs: ['*'], verbs: ['get'] };

test('a backup is for those who may do everything; a right to every path is not enough', async () => {
  const storage = new MemoryStorage(systemClock);
  const plane = await startTestControlPlane({
    storage,
    paths: (authorizer) =>
      new Map([[backupPath, backupHandler({ storage, clock: systemClock, authorizer })]]),
  });
  const rows = [
    ['paths', [everyPath], 403],
    ['reader', [everyPath, { ...everything, verbs: ['get', 'list', 'watch'] }], 403],
    ['core', [everyPath, { ...everything, apiGroups: [''] }], 403],
    ['nobody', [everything], 403],
    ['all', [everyPath, everything], 200],
  ] as const;
  for (const [name, rules, status] of rows) {
    const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    await plane.ask('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
    await plane.ask('POST', `${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
    const answer = await plane.ask('GET', backupPath, undefined, { user: user(name) });
    assert.equal(answer.status, status, `${name}: ${answer.text.slice(0, 200)}`);
  }
  assert.equal((await plane.ask('GET', backupPath)).status, 200);
  for (const method of ['POST', 'PUT', 'DELETE', 'HEAD'])
    assert.equal((await plane.ask(method, backupPath)).status, 405, method);
  await plane.close();
});
