// A definition that asks for what is built in: it is refused, and its end is not that of the built-in's objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const rbac = 'rbac.authorization.k8s.io';
const merge = { contentType: 'application/merge-patch+json' };

const definition = (names: {
  plural: string;
  kind: string;
  listKind?: string;
  singular?: string;
}): object => ({
  metadata: {
    name: `${names.plural}.${rbac}`,
    annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' },
  },
  spec: {
    group: rbac,
    scope: 'Cluster',
    names,
    versions: [
      {
        name: 'v2',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

test('names of built-in resources are refused whatever the version, and stay theirs when the definition goes', async () => {
  const { ask, close } = await startTestControlPlane();
  const roles = async (): Promise<number> =>
    ((await ask('GET', `/apis/${rbac}/v1/clusterroles`)).body['items'] as unknown[]).length;
  const before = await roles();
  assert.ok(before > 0);
  for (const [names, reason, message] of [
    [{ plural: 'clusterroles', kind: 'Other' }, 'PluralConflict', '"clusterroles" is already in use'],
    [
      { plural: 'others', kind: 'ClusterRole', listKind: 'Others' },
      'KindConflict',
      '"ClusterRole" is already in use',
    ],
    [
      { plural: 'others', kind: 'Other', listKind: 'RoleList' },
      'ListKindConflict',
      '"RoleList" is already in use',
    ],
    [{ plural: 'others', kind: 'Other', singular: 'role' }, 'SingularConflict', '"role" is already in use'],
  ] as const) {
    const path = `${crds}/${names.plural}.${rbac}`;
    const made = await ask('POST', crds, definition(names));
    assert.equal(made.status, 201, made.text);
    await eventually(async () => {
      const { conditions = [] } = (await ask('GET', path)).body['status'] as { conditions?: Condition[] };
      const byType = new Map(conditions.map((c) => [c.type, c]));
      const { status, reason: why, message: text } = byType.get('NamesAccepted') ?? ({} as Condition);
      assert.deepEqual([status, why, text], ['False', reason, message]);
      assert.equal(byType.get('Established')?.status, 'False');
    });
    if (reason === 'PluralConflict' || reason === 'KindConflict') {
      // Somebody who may write the status says otherwise.
      const conditions = [{ type: 'Established', status: 'True', reason: 'Mine', message: '' }];
      await ask('PATCH', `${path}/status`, { status: { conditions, acceptedNames: names } }, merge);
      await eventually(async () => {
        const status = (await ask('GET', path)).body['status'] as { conditions: Condition[] };
        assert.ok(status.conditions.some(({ type }) => type === 'NamesAccepted'));
      });
    }
    assert.equal((await ask('GET', `/apis/${rbac}/v2/${names.plural}`)).status, 404);
    await ask('DELETE', path);
    await eventually(async () => assert.equal((await ask('GET', path)).status, 404));
    assert.equal(await roles(), before);
  }
  await close();
});
