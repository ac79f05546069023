// Objects that are read at each request: whatever stands in the store, and whatever a body says, others are served.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { encodeDraft } from '../../src/apiserver/registry/encode.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';

const flow = '/apis/flowcontrol.apiserver.k8s.io/v1';
const jane = user('jane');

/** Straight into the store, as an older or a damaged server may have left it. */
async function plant(server: TestControlPlane, path: string, object: JsonObject): Promise<void> {
  const [group = '', version = '', resource = ''] = path.split('/');
  const { cache, declaration } = server.controlPlane.api.store(group, version, resource);
  const metadata = object['metadata'] as JsonObject;
  const whole = { kind: declaration.kind, apiVersion: `${group}/${version}`, ...object };
  const namespace = String(metadata['namespace'] ?? '');
  const written = await cache.create(namespace, String(metadata['name']), encodeDraft(whole), whole);
  assert.ok(written.ok);
}

const rbac = 'rbac.authorization.k8s.io/v1';
const fairness = 'flowcontrol.apiserver.k8s.io/v1';
const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }];
const level = { name: 'exempt' };
const damaged: readonly { readonly path: string; readonly more: JsonObject }[] = [
  { path: `${fairness}/flowschemas`, more: {} },
  { path: `${fairness}/flowschemas`, more: { spec: null } },
  { path: `${fairness}/flowschemas`, more: { spec: { priorityLevelConfiguration: null } } },
  { path: `${fairness}/flowschemas`, more: { spec: { priorityLevelConfiguration: level, rules: [null] } } },
  { path: `${fairness}/flowschemas`, more: { spec: { priorityLevelConfiguration: level, rules: [{}] } } },
  {
    path: `${fairness}/flowschemas`,
    more: {
      spec: { priorityLevelConfiguration: level, matchingPrecedence: 1, rules: [{ subjects: [null] }] },
    },
  },
  { path: `${fairness}/prioritylevelconfigurations`, more: {} },
  { path: `${fairness}/prioritylevelconfigurations`, more: { spec: { type: 'Limited' } } },
  {
    path: `${fairness}/prioritylevelconfigurations`,
    more: { spec: { type: 'Limited', limited: { nominalConcurrencyShares: -100_000 } } },
  },
  { path: `${rbac}/clusterrolebindings`, more: { subjects } },
  { path: `${rbac}/clusterrolebindings`, more: { subjects, roleRef: {} } },
  { path: `${rbac}/clusterroles`, more: { aggregationRule: {} } },
  { path: 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations', more: {} },
  { path: 'apiextensions.k8s.io/v1/customresourcedefinitions', more: {} },
  { path: 'apiextensions.k8s.io/v1/customresourcedefinitions', more: { spec: { versions: [] } } },
  { path: 'apiregistration.k8s.io/v1/apiservices', more: {} },
  { path: 'scheduling.k8s.io/v1/priorityclasses', more: {} },
  { path: 'node.k8s.io/v1/runtimeclasses', more: {} },
  { path: 'storage.k8s.io/v1/storageclasses', more: {} },
  { path: 'networking.k8s.io/v1/ingressclasses', more: {} },
];

const requests: readonly (readonly [string, string, object?])[] = [
  ['GET', '/api/v1/namespaces'],
  ['GET', '/apis'],
  ['GET', '/openapi/v2'],
  ['GET', '/openapi/v3'],
  ['POST', '/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'a' } }],
];

async function servesAll(server: TestControlPlane): Promise<void> {
  for (const who of [undefined, jane])
    for (const [method, path, body] of requests) {
      const { status, text } = await server.ask(method, path, body, who ? { user: who } : {});
      assert.ok(status < 300 || (who !== undefined && status === 403), `${method} ${path}: ${text}`);
    }
}

describe('what is stored wrong breaks no request', () => {
  it('damaged objects of all that is read at each request, while the server runs and after a restart', async () => {
    const server = await startTestControlPlane();
    for (const [i, { path, more }] of damaged.entries()) {
      await plant(server, path, { metadata: { name: `damaged-${i}`, uid: `u${i}` }, ...more });
      await servesAll(server);
    }
    const again = await startTestControlPlane({ storage: server.storage, pki: server.pki });
    await servesAll(again);
    await again.close();
  });

  const schema = (name: string, spec: object): object => ({ metadata: { name }, spec });
  const limited = (queuing: object): object => ({
    type: 'Limited',
    limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Queue', queuing } },
  });
  const refused: readonly (readonly [string, object, RegExp])[] = [
    [
      'flowschemas',
      schema('a', {}),
      /priorityLevelConfiguration.name: Required value: must reference a prior/,
    ],
    [
      'flowschemas',
      schema('a', { matchingPrecedence: 1, priorityLevelConfiguration: level }),
      /only the schema named 'exempt' may have matchingPrecedence 1/,
    ],
    [
      'flowschemas',
      schema('a', { priorityLevelConfiguration: level, rules: [null] }),
      /rules\[0\].subjects: Required value: subjects must contain at least one value/,
    ],
    [
      'flowschemas',
      schema('a', { priorityLevelConfiguration: level, rules: [{ subjects: [{ kind: 'User' }] }] }),
      /subjects\[0\].user: Required value: user is required when subject kind is 'User'/,
    ],
    ['prioritylevelconfigurations', schema('a', {}), /spec.type: Unsupported value: ""/],
    [
      'prioritylevelconfigurations',
      schema('a', { type: 'Exempt' }),
      /type must be 'Exempt' if and only if name is 'exempt'/,
    ],
    [
      'prioritylevelconfigurations',
      schema('a', limited({ queues: -1, handSize: 3 })),
      /queuing.queues: Invalid value: -1: must be positive/,
    ],
    [
      'prioritylevelconfigurations',
      schema('a', limited({ queues: 512, handSize: 8 })),
      /required entropy bits of deckSize 512 and handSize 8 should not be greater than 60/,
    ],
    [
      'prioritylevelconfigurations',
      schema('a', { type: 'Limited', limited: { nominalConcurrencyShares: -5, limitResponse: {} } }),
      /nominalConcurrencyShares: Invalid value: -5: must be a non-negative integer/,
    ],
  ];
  it('flow schemas and priority levels that say not enough are refused with 422', async () => {
    const server = await startTestControlPlane();
    for (const [resource, body, says] of refused) {
      const { status, message } = await server.ask('POST', `${flow}/${resource}`, body);
      assert.equal(status, 422, message);
      assert.match(message, says);
    }
    await servesAll(server);
    await server.close();
  });

  it('nobody changes the schemas and levels that all depend on', async () => {
    const server = await startTestControlPlane();
    for (const [path, patch, says] of [
      ['flowschemas/exempt', { spec: { matchingPrecedence: 5 } }, "spec of 'exempt' must equal the fixed"],
      ['flowschemas/catch-all', { spec: { rules: [] } }, "spec of 'catch-all' must equal the fixed value"],
      [
        'prioritylevelconfigurations/catch-all',
        { spec: { limited: { nominalConcurrencyShares: 0 } } },
        "spec of 'catch-all' must equal the fixed value",
      ],
    ] as const) {
      const how = { contentType: 'application/merge-patch+json' };
      const { status, message } = await server.ask('PATCH', `${flow}/${path}`, patch, how);
      assert.equal(status, 422, message);
      assert.ok(message.includes(says), message);
    }
    const shares = { spec: { exempt: { nominalConcurrencyShares: 5 } } };
    const { status, message } = await server.ask(
      'PATCH',
      `${flow}/prioritylevelconfigurations/exempt`,
      shares,
      { contentType: 'application/merge-patch+json' },
    );
    assert.equal(status, 200, message);
    await server.close();
  });
});
