// Patches and server-side apply through the whole API server: ownership, conflicts, no-op writes, pages of old lists.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestServer } from '../../src/apiserver/testing/test-server.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const deployments = '/apis/apps/v1/namespaces/default/deployments';
const deployment = (replicas: number, image = 'nginx:1', cpu = '1000m'): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'nginx', image, ports: [{ containerPort: 80 }], resources: { requests: { cpu } } },
        ],
      },
    },
  },
});

interface Shown {
  metadata: {
    resourceVersion: string;
    managedFields: { manager: string; operation: string; fieldsV1: object }[];
  };
  spec: {
    replicas: number;
    template: { spec: { containers: { name: string; image: string; ports: object[] }[] } };
  };
}
interface Refusal {
  code: number;
  reason: string;
  message: string;
  details: object;
}

async function withServer(run: (server: TestServer) => Promise<void>): Promise<void> {
  const server = await startTestServer();
  try {
    await run(server);
  } finally {
    await server.close();
  }
}
const patch = (server: TestServer, url: string, type: string, body: unknown) =>
  server.request('PATCH', url, body, { headers: { 'content-type': `application/${type}` } });
const apply = (server: TestServer, body: object, manager: string, more = '') =>
  patch(server, `${deployments}/web?fieldManager=${manager}${more}`, 'apply-patch+yaml', body);

test('an apply creates, a second one changes nothing, a conflict is told, force takes over', () =>
  withServer(async (server) => {
    const created = await apply(server, deployment(1), 'kubectl');
    assert.equal(created.status, 201, created.text);
    const first = created.json() as unknown as Shown;
    assert.deepEqual(
      first.metadata.managedFields.map((m) => [m.manager, m.operation]),
      [['kubectl', 'Apply']],
    );
    assert.equal(
      JSON.stringify(first.metadata.managedFields).includes('f:strategy'),
      false,
      'defaults are nobody’s',
    );

    const again = (await apply(server, deployment(1), 'kubectl')).json() as unknown as Shown;
    assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);

    const refused = await apply(server, deployment(3, 'nginx:1', '1'), 'ci');
    assert.equal(refused.status, 409);
    const status = refused.json() as unknown as Refusal;
    assert.equal(status.message, 'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas');
    assert.deepEqual(status.details, {
      causes: [
        { reason: 'FieldManagerConflict', message: 'conflict with "kubectl"', field: '.spec.replicas' },
      ],
    });

    const forced = (
      await apply(server, deployment(3, 'nginx:1', '1'), 'ci', '&force=true')
    ).json() as unknown as Shown;
    assert.equal(forced.spec.replicas, 3);
    assert.equal(
      JSON.stringify(forced.metadata.managedFields.find((m) => m.manager === 'kubectl')).includes(
        'f:replicas',
      ),
      false,
    );
  }));

test('a create and an update record their managers; a strategic patch keeps what it does not name', () =>
  withServer(async (server) => {
    const created = await server.request('POST', `${deployments}?fieldManager=kubectl-create`, deployment(1));
    assert.equal(created.status, 201, created.text);
    const patched = await patch(
      server,
      `${deployments}/web?fieldManager=kubectl-patch`,
      'strategic-merge-patch+json',
      {
        spec: { template: { spec: { containers: [{ name: 'nginx', image: 'nginx:2' }] } } },
      },
    );
    assert.equal(patched.status, 200, patched.text);
    const shown = patched.json() as unknown as Shown;
    const [container] = shown.spec.template.spec.containers;
    assert.equal(container?.image, 'nginx:2');
    assert.equal(container?.ports.length, 1);
    assert.deepEqual(shown.metadata.managedFields.map((m) => m.manager).sort(), [
      'kubectl-create',
      'kubectl-patch',
    ]);
    const ofPatch = shown.metadata.managedFields.find((m) => m.manager === 'kubectl-patch');
    assert.deepEqual(ofPatch?.fieldsV1, {
      'f:spec': {
        'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"nginx"}': { 'f:image': {} } } } },
      },
    });
  }));

test('patches that cannot be applied are refused as kube-apiserver does', () =>
  withServer(async (server) => {
    await server.request('POST', deployments, deployment(1));
    const url = `${deployments}/web`;
    const failing = await patch(server, url, 'json-patch+json', [
      { op: 'test', path: '/spec/replicas', value: 9 },
    ]);
    assert.equal(failing.status, 422);
    assert.equal(
      (failing.json() as unknown as Refusal).message,
      'the server rejected our request due to an error in our request',
    );
    const notList = await patch(server, url, 'json-patch+json', { op: 'add' });
    assert.equal(notList.status, 400);
    const polluting = await patch(server, url, 'merge-patch+json', '{"__proto__":{"polluted":true}}');
    assert.ok(polluting.status < 500, polluting.text);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    const unnamed = await patch(server, url, 'apply-patch+yaml', deployment(1));
    assert.equal(unnamed.status, 422);
    const unknown = await apply(server, { ...deployment(1), frob: 1 }, 'kubectl');
    assert.equal(
      (unknown.json() as unknown as Refusal).message,
      'failed to create typed patch object (/web; apps/v1, Kind=Deployment): .frob: field not declared in schema',
    );
  }));

test('the pages of a list show one revision, whatever is written between', () =>
  withServer(async (server) => {
    const configmaps = '/api/v1/namespaces/default/configmaps';
    for (const name of ['a', 'b', 'c', 'd'])
      await server.request('POST', configmaps, { metadata: { name }, data: { was: 'first' } });
    interface List {
      metadata: { continue: string; resourceVersion: string };
      items: { metadata: { name: string }; data: object }[];
    }
    const first = (await server.request('GET', `${configmaps}?limit=2`)).json() as unknown as List;
    await server.request('DELETE', `${configmaps}/c`);
    await patch(server, `${configmaps}/d`, 'merge-patch+json', { data: { was: 'changed' } });
    await server.request('POST', configmaps, { metadata: { name: 'e' } });
    const rest = (
      await server.request('GET', `${configmaps}?limit=9&continue=${first.metadata.continue}`)
    ).json() as unknown as List;
    const mine = [...first.items, ...rest.items].filter((i) => i.metadata.name.length === 1);
    assert.deepEqual(
      mine.map((i) => [i.metadata.name, i.data]),
      ['a', 'b', 'c', 'd'].map((name) => [name, { was: 'first' }]),
    );
    assert.equal(rest.metadata.resourceVersion, first.metadata.resourceVersion);
  }));

test('a scale is applied: conflicts name its version, force takes the replicas, the owner is of the subresource', async () => {
  const { ask, close } = await startTestControlPlane();
  const scale = (replicas: unknown, more: object = {}): object => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas },
    ...more,
  });
  const applied = (body: object, query = '') =>
    ask('PATCH', `${deployments}/web/scale?fieldManager=scaler${query}`, body, {
      contentType: 'application/apply-patch+yaml',
    });
  assert.equal((await applied(scale(3))).status, 404);
  await ask('POST', `${deployments}?fieldManager=creator`, deployment(2));
  const refused = await applied(scale(3));
  assert.equal(refused.status, 409);
  assert.equal(
    refused.message,
    'Apply failed with 1 conflict: conflict with "creator" using autoscaling/v1: .spec.replicas',
  );
  const forced = await applied(scale(3), '&force=true');
  assert.equal(forced.status, 200, forced.text);
  assert.equal(forced.body['kind'], 'Scale');
  const owners = async (): Promise<string[]> => {
    const { metadata, spec } = (await ask('GET', `${deployments}/web`)).body as unknown as Shown;
    const entries = metadata.managedFields as unknown as {
      subresource?: string;
      manager: string;
      apiVersion: string;
    }[];
    return [
      String(spec.replicas),
      ...entries
        .filter(
          (one) =>
            'f:replicas' in ((one as never as { fieldsV1: { 'f:spec'?: object } }).fieldsV1['f:spec'] ?? {}),
        )
        .map((one) => `${one.manager} ${one.apiVersion} ${one.subresource ?? ''}`),
    ];
  };
  assert.deepEqual(await owners(), ['3', 'scaler apps/v1 scale']);
  assert.equal((await applied(scale(4))).status, 200);
  assert.deepEqual(await owners(), ['4', 'scaler apps/v1 scale']);
  const other = await ask(
    'PATCH',
    `${deployments}/web?fieldManager=other`,
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 9 } },
    { contentType: 'application/apply-patch+yaml' },
  );
  assert.equal(
    other.message,
    'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale": .spec.replicas',
  );
  for (const [body, code, words] of [
    [deployment(1), 400, 'invalid object type: apps/v1, Kind=Deployment'],
    [
      scale('x'),
      500,
      'failed to create typed patch object (default/web; autoscaling/v1, Kind=Scale): .spec.replicas: expected numeric (int or float), got string',
    ],
    [
      scale(1, { frob: 1 }),
      500,
      'failed to create typed patch object (default/web; autoscaling/v1, Kind=Scale): .frob: field not declared in schema',
    ],
    [
      scale(-1),
      422,
      'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
  ] as const) {
    const answer = await applied(body);
    assert.equal(answer.message, words);
    assert.equal(answer.status, code);
  }
  await close();
});

test('what plugins add to a new object is nobody’s: an apply by its creator leaves it there', async () => {
  const { ask, close } = await startTestControlPlane();
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const pods = '/api/v1/namespaces/default/pods';
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'plain' },
    spec: { containers: [{ name: 'c', image: 'x' }] },
  };
  const made = await ask('POST', `${pods}?fieldManager=creator`, pod);
  assert.equal(made.status, 201, made.text);
  const { spec, metadata } = made.body as unknown as {
    spec: Record<string, unknown>;
    metadata: { managedFields: { manager: string; fieldsV1: { 'f:spec': Record<string, unknown> } }[] };
  };
  assert.equal(spec['serviceAccountName'], 'default');
  const owned = metadata.managedFields.find(({ manager }) => manager === 'creator')!.fieldsV1['f:spec'];
  assert.ok('f:containers' in owned && 'f:restartPolicy' in owned);
  for (const name of ['serviceAccount', 'serviceAccountName', 'volumes', 'tolerations', 'priority'])
    assert.ok(!(`f:${name}` in owned), name);
  await close();
});

test('what was applied by the client is the server’s to take away once its entry is one of an apply, and back', () =>
  withServer(async (server) => {
    const url = '/api/v1/namespaces/default/configmaps/cm';
    const body = (data: object): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'cm' },
      data,
    });
    interface Owned {
      metadata: { resourceVersion: string; managedFields: { operation: string; manager: string }[] };
      data: object;
    }
    const made = await server.request(
      'POST',
      '/api/v1/namespaces/default/configmaps?fieldManager=kubectl-client-side-apply',
      body({ a: '1', b: '2' }),
    );
    const owned = made.json() as unknown as Owned;
    // As kubectl does before its first apply.
    const move = (from: Owned, change: object): Promise<{ status: number; text: string; json(): unknown }> =>
      patch(server, url, 'json-patch+json', [
        {
          op: 'replace',
          path: '/metadata/managedFields',
          value: from.metadata.managedFields.map((entry) => ({ ...entry, ...change })),
        },
        { op: 'replace', path: '/metadata/resourceVersion', value: from.metadata.resourceVersion },
      ]) as never;
    const moved = (await move(owned, { manager: 'kubectl', operation: 'Apply' })).json() as Owned;
    assert.deepEqual(
      moved.metadata.managedFields.map((m) => [m.manager, m.operation]),
      [['kubectl', 'Apply']],
    );
    const stale = await move(owned, { manager: 'late', operation: 'Apply' });
    assert.equal(stale.status, 409, stale.text);
    const applied = await patch(server, `${url}?fieldManager=kubectl`, 'apply-patch+yaml', body({ a: '1' }));
    const less = applied.json() as unknown as Owned;
    assert.deepEqual(less.data, { a: '1' });
    const back = (
      await move(less, { manager: 'kubectl-client-side-apply', operation: 'Update' })
    ).json() as Owned;
    assert.deepEqual(
      back.metadata.managedFields.map((m) => [m.manager, m.operation]),
      [['kubectl-client-side-apply', 'Update']],
    );
    const other = await patch(server, `${url}?fieldManager=kubectl`, 'apply-patch+yaml', body({ a: '2' }));
    assert.equal(
      (other.json() as unknown as Refusal).message,
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.a',
    );
  }));
