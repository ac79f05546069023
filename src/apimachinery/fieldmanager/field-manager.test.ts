// Ownership as upstream records it, conflicts as upstream words them, and laws of the set algebra.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { atOnce } from '../../base/turns.ts';
import type { Json, JsonObject, SchemaSource, TypeSchema } from '../declaration.ts';
import type { StatusError } from '../errors.ts';
import { applyPatch } from './apply-patch.ts';
import { trackUpdate } from './field-manager.ts';
import type { FieldSet } from './field-set.ts';
import {
  decodeFieldSetSteps,
  difference,
  encodeFieldSet,
  intersection,
  setsEqual,
  union,
} from './field-set.ts';
import { liveIfUnchanged } from './ignore-timestamps.ts';

const unchanged = (live: JsonObject, result: JsonObject): JsonObject => atOnce(liveIfUnchanged(live, result));
const decode = (encoded: Json): FieldSet => atOnce(decodeFieldSetSteps(encoded));

const types = JSON.parse(
  readFileSync(new URL('../../api/schema/types.json', import.meta.url), 'utf8'),
) as Record<string, TypeSchema>;
const source: SchemaSource = { type: (name) => types[name] };
const base = {
  schema: source,
  type: 'io.k8s.api.apps.v1.Deployment',
  apiVersion: 'apps/v1',
  subresource: '',
};

const deployment = (
  replicas: number | undefined,
  containers: Json[],
  extra: JsonObject = {},
): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default', ...(extra.metadata as JsonObject) },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
    ...(extra.spec as JsonObject),
  },
});
const nginx = (image = 'nginx'): JsonObject => ({ name: 'nginx', image });
const at = (n: number): string => `2026-01-01T00:00:0${n}Z`;
const apply = (
  live: JsonObject | undefined,
  patch: JsonObject,
  manager = 'kubectl',
  force = false,
  n = 1,
): JsonObject => applyPatch({ ...base, live, patch, manager, force, time: at(n) });
const update = (
  live: JsonObject | undefined,
  result: JsonObject,
  manager = 'editor',
  n = 1,
  subresource = '',
): JsonObject => trackUpdate({ ...base, live, result, manager, time: at(n), subresource });
const managed = (object: JsonObject): JsonObject[] =>
  ((object.metadata as JsonObject).managedFields ?? []) as JsonObject[];
const spec = (object: JsonObject): JsonObject => object.spec as JsonObject;
const fieldsOf = (object: JsonObject, manager: string): Json | undefined =>
  managed(object).find((m) => m.manager === manager)?.fieldsV1;

test('a create records what the writer set, as kube-apiserver shows it', () => {
  const created = update(
    undefined,
    deployment(1, [{ ...nginx(), ports: [{ containerPort: 80, protocol: 'TCP' }], resources: {} }], {
      metadata: { labels: { app: 'web' } },
      spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } } },
    }),
    'kubectl-create',
  );
  assert.deepEqual(managed(created), [
    {
      apiVersion: 'apps/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
        'f:spec': {
          'f:replicas': {},
          'f:selector': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
            'f:spec': {
              'f:containers': {
                'k:{"name":"nginx"}': {
                  '.': {},
                  'f:image': {},
                  'f:name': {},
                  'f:ports': {
                    '.': {},
                    'k:{"containerPort":80,"protocol":"TCP"}': {
                      '.': {},
                      'f:containerPort': {},
                      'f:protocol': {},
                    },
                  },
                  'f:resources': {},
                },
              },
            },
          },
        },
      },
      manager: 'kubectl-create',
      operation: 'Update',
      time: at(1),
    },
  ]);
});

test('an apply owns what it names and keeps what others own', () => {
  const first = apply(undefined, deployment(2, [nginx()]));
  assert.deepEqual(fieldsOf(first, 'kubectl'), {
    'f:spec': {
      'f:replicas': {},
      'f:selector': {},
      'f:template': {
        'f:metadata': { 'f:labels': { 'f:app': {} } },
        'f:spec': { 'f:containers': { 'k:{"name":"nginx"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
      },
    },
  });
  const scaled = update(first, { ...first, spec: { ...spec(first), replicas: 5, paused: true } }, 'hpa', 2);
  assert.deepEqual(fieldsOf(scaled, 'hpa'), { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } });
  const again = apply(scaled, deployment(undefined, [nginx('nginx:2')]), 'kubectl', false, 3);
  assert.equal(spec(again).replicas, 5);
  assert.equal(spec(again).paused, true);
});

test('what an applier drops goes, unless another manager has it', () => {
  const two = apply(
    undefined,
    deployment(2, [nginx(), { name: 'side', image: 's' }], { metadata: { labels: { a: '1', b: '2' } } }),
  );
  const shared = apply(two, deployment(2, [nginx()]), 'other', false, 2);
  const one = apply(
    shared,
    deployment(undefined, [nginx()], { metadata: { labels: { b: '2' } } }),
    'kubectl',
    false,
    3,
  );
  assert.deepEqual(spec(one), spec(deployment(2, [nginx()])));
  assert.deepEqual((one.metadata as JsonObject).labels, { b: '2' });
  const none = apply(one, deployment(undefined, [nginx()]), 'kubectl', false, 4);
  assert.equal((none.metadata as JsonObject).labels, undefined);
});

test('a conflict names manager and field as upstream, and force takes over', () => {
  const live = update(undefined, deployment(1, [nginx()]), 'kubectl');
  const patch = deployment(3, [nginx()]);
  assert.throws(
    () => apply(live, patch, 'ci'),
    (error: StatusError) => {
      assert.equal(
        error.message,
        'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas',
      );
      assert.deepEqual([error.code, error.reason], [409, 'Conflict']);
      assert.deepEqual(error.status.details, {
        causes: [
          {
            reason: 'FieldManagerConflict',
            message: 'conflict with "kubectl" using apps/v1',
            field: '.spec.replicas',
          },
        ],
      });
      return true;
    },
  );
  assert.throws(() => apply(live, deployment(3, [nginx('x')]), 'ci'), {
    message:
      'Apply failed with 2 conflicts: conflicts with "kubectl" using apps/v1:\n- .spec.replicas\n- .spec.template.spec.containers[name="nginx"].image',
  });
  const forced = apply(live, patch, 'ci', true);
  assert.equal(spec(forced).replicas, 3);
  assert.equal(JSON.stringify(fieldsOf(forced, 'kubectl')).includes('f:replicas'), false);
  assert.doesNotThrow(() => apply(live, deployment(1, [nginx()]), 'ci'), 'the same value is no conflict');
});

test('applying the same twice changes nothing, timestamps included', () => {
  const first = apply(undefined, deployment(2, [nginx()]));
  assert.deepEqual(apply(first, deployment(2, [nginx()]), 'kubectl', false, 9), first);
});

test('an object that nobody owns belongs to before-first-apply', () => {
  const live = deployment(1, [nginx()]);
  assert.throws(() => apply(live, deployment(2, [nginx()])), {
    message: /conflict with "before-first-apply" using apps\/v1/,
  });
});

test('status has an entry of its own and cannot write ownership', () => {
  const live = update(undefined, deployment(1, [nginx()]), 'kubectl');
  const result = {
    ...live,
    metadata: { ...(live.metadata as JsonObject), managedFields: [{}] },
    status: { replicas: 1 },
  };
  const after = update(live, result, 'kube-controller-manager', 2, 'status');
  assert.deepEqual(
    managed(after).map((m) => [m.manager, m.subresource, m.fieldsV1 === undefined]),
    [
      ['kubectl', undefined, false],
      ['kube-controller-manager', 'status', false],
    ],
  );
  assert.deepEqual(fieldsOf(after, 'kube-controller-manager'), { 'f:status': { 'f:replicas': {} } });
});

test('an update of nothing keeps the entries as they are; removed fields leave every set; a reset clears', () => {
  const live = update(undefined, deployment(1, [nginx()]), 'kubectl');
  assert.deepEqual(update(live, { ...live }, 'other', 5), live);
  const { replicas: _, ...rest } = spec(live);
  const removed = update(live, { ...live, spec: rest }, 'other', 5);
  assert.deepEqual(
    managed(removed).map((m) => m.manager),
    ['kubectl'],
  );
  assert.equal(JSON.stringify(managed(removed)).includes('f:replicas'), false);
  const reset = update(
    live,
    { ...live, metadata: { ...(live.metadata as JsonObject), managedFields: [{}] } },
    'other',
    5,
  );
  assert.equal((reset.metadata as JsonObject).managedFields, undefined);
});

test('no more than ten updaters are kept', () => {
  let live = update(undefined, deployment(1, [nginx()]), 'm0', 0);
  for (let i = 1; i <= 14; i++) {
    const annotations = { ...((live.metadata as JsonObject).annotations as JsonObject), [`a${i}`]: 'x' };
    const time = new Date(Date.UTC(2026, 0, 1, 0, 1, i)).toISOString().replace('.000', '');
    live = trackUpdate({
      ...base,
      live,
      result: { ...live, metadata: { ...(live.metadata as JsonObject), annotations } },
      manager: `m${i}`,
      time,
    });
  }
  assert.equal(managed(live).length, 10);
  assert.equal(managed(live)[0]?.manager, 'ancient-changes');
  assert.equal(managed(live).at(-1)?.manager, 'm14');
});

test('what does not fit the schema is refused with upstream messages', () => {
  const about = 'failed to create typed patch object (default/web; apps/v1, Kind=Deployment): ';
  assert.throws(() => apply(undefined, deployment(1, [nginx()], { spec: { frob: 1 } })), {
    message: `${about}.spec.frob: field not declared in schema`,
  });
  assert.throws(() => apply(undefined, deployment(1, [nginx(), nginx()])), {
    message: `${about}.spec.template.spec.containers: duplicate entries for key [name="nginx"]`,
  });
  assert.throws(() => apply(undefined, deployment(1, [nginx()], { metadata: { managedFields: [{}] } })), {
    message: 'metadata.managedFields must be nil',
  });
  assert.throws(
    () =>
      applyPatch({
        ...base,
        apiVersion: 'apps/v2',
        live: undefined,
        patch: deployment(1, []),
        manager: 'k',
        force: false,
        time: at(1),
      }),
    {
      message:
        'Incorrect version specified in apply patch. Specified patch version: apps/v1, expected: apps/v2',
    },
  );
});

test('a merged list follows the applied order and keeps what others added', () => {
  const live = apply(undefined, deployment(1, [{ name: 'a' }, { name: 'b' }]));
  const template = spec(live).template as JsonObject;
  const more = { ...template, spec: { containers: [{ name: 'x' }, { name: 'a' }, { name: 'b' }] } };
  const injected = update(live, { ...live, spec: { ...spec(live), template: more } }, 'injector', 2);
  const after = apply(injected, deployment(1, [{ name: 'b' }, { name: 'a' }]), 'kubectl', false, 3);
  assert.deepEqual(
    (((spec(after).template as JsonObject).spec as JsonObject).containers as JsonObject[]).map((c) => c.name),
    ['x', 'b', 'a'],
  );
});

test('custom resources without a schema merge maps and replace lists', () => {
  const free = { ...base, type: 'example.com.Thing', apiVersion: 'example.com/v1' };
  const thing = (spec: JsonObject): JsonObject => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'x' },
    spec,
  });
  const first = applyPatch({
    ...free,
    live: undefined,
    patch: thing({ a: { b: 1 }, list: [1] }),
    manager: 'one',
    force: false,
    time: at(1),
  });
  const second = applyPatch({
    ...free,
    live: first,
    patch: thing({ a: { c: 2 } }),
    manager: 'two',
    force: false,
    time: at(2),
  });
  assert.deepEqual(second.spec, { a: { b: 1, c: 2 }, list: [1] });
  const third = applyPatch({
    ...free,
    live: second,
    patch: thing({}),
    manager: 'one',
    force: false,
    time: at(3),
  });
  assert.deepEqual(third.spec, { a: { c: 2 } });
});

test('a write that changes only times is given the old times back', () => {
  const live = update(undefined, deployment(1, [nginx()]), 'kubectl', 1);
  const later = update(undefined, deployment(1, [nginx()]), 'kubectl', 2);
  assert.notDeepEqual(later, live);
  assert.deepEqual(unchanged(live, later), live);
  const other = update(undefined, deployment(2, [nginx()]), 'kubectl', 2);
  assert.equal(unchanged(live, other), other);
});

test('ownership that a client made up does no harm', () => {
  const live = update(undefined, deployment(1, [nginx()]), 'kubectl');
  const deep = JSON.parse(`${'{"f:a":'.repeat(5_000)}{}${'}'.repeat(5_000)}`) as Json;
  const entry = (fieldsV1: Json): JsonObject => ({
    manager: 'x',
    operation: 'Update',
    apiVersion: 'apps/v1',
    fieldsType: 'FieldsV1',
    fieldsV1,
  });
  const hostile: Json[] = [
    [entry(deep)],
    [entry('x')],
    [entry({ nonsense: {} })],
    [null],
    ['x'],
    { a: 1 },
    [{ operation: 'Frob' }],
    [entry({ 'f:spec': { 'f:replicas': {}, 'k:not json': {}, 'f:__proto__': { 'f:polluted': {} } } })],
  ];
  for (const managedFields of hostile) {
    const result = update(
      live,
      { ...live, metadata: { ...(live.metadata as JsonObject), managedFields } },
      'other',
      2,
    );
    assert.ok(managed(result).length > 0);
    assert.throws(() => apply(result, deployment(7, [nginx()]), 'ci'), {
      message: /^Apply failed with 1 conflict/,
    });
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test('the set algebra obeys its laws', () => {
  let seed = 11;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  const make = (depth: number): JsonObject => {
    const object: JsonObject = random(3) === 0 ? { '.': {} } : {};
    for (let i = random(4); i > 0 && depth > 0; i--) object[`f:${'abc'[random(3)]}`] = make(depth - 1);
    return object;
  };
  for (let i = 0; i < 300; i++) {
    const [a, b] = [decode(make(4)), decode(make(4))];
    assert.ok(setsEqual(union(a, b), union(b, a)));
    assert.ok(setsEqual(intersection(a, b), intersection(b, a)));
    assert.ok(setsEqual(union(difference(a, b), intersection(a, b)), a));
    assert.ok(setsEqual(decode(encodeFieldSet(a)), a.children === undefined ? decode({}) : a));
  }
});

test('what others own is read only where the write may take something of it', () => {
  const unread = (): JsonObject =>
    new Proxy({}, { get: () => assert.fail('it was read'), ownKeys: () => assert.fail('it was read') });
  const entry = (manager: string, fieldsV1: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    fieldsType: 'FieldsV1',
    fieldsV1,
    manager,
    operation: 'Update',
    time: at(1),
  });
  const taken = { 'f:status': { 'f:replicas': {}, 'f:readyReplicas': {} } };
  const managedFields = [entry('kubectl', { 'f:spec': unread() }), entry('other', taken)];
  const stored: JsonObject = {
    ...deployment(1, [nginx()], { metadata: { managedFields } }),
    status: { replicas: 1, readyReplicas: 1 },
  };
  const writer = { ...base, subresource: 'status', manager: 'controller', time: at(2) };
  const { metadata } = trackUpdate({
    ...writer,
    live: stored,
    result: { ...stored, status: { replicas: 2, readyReplicas: 1 } },
  });
  const fields = (metadata as { managedFields: JsonObject[] }).managedFields;
  const owned = fields.slice(1).map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
  assert.equal(fields[0]?.['fieldsV1'], managedFields[0]?.['fieldsV1']);
  assert.deepEqual(owned, [
    ['other', { 'f:status': { 'f:readyReplicas': {} } }],
    ['controller', { 'f:status': { 'f:replicas': {} } }],
  ]);
});

test('what is stored and makes no sense owns nothing, and is in nobody’s way', () => {
  const nonsense = {
    apiVersion: 'apps/v1',
    fieldsV1: { 'f:spec': { odd: {} } },
    manager: 'x',
    operation: 'Update',
  };
  const live = deployment(1, [nginx()], { metadata: { managedFields: [nonsense] } });
  const { metadata } = trackUpdate({
    ...base,
    manager: 'kubectl',
    time: at(2),
    live,
    result: deployment(2, [nginx()], { metadata: { managedFields: [structuredClone(nonsense)] } }),
  });
  const fields = (metadata as { managedFields: JsonObject[] }).managedFields;
  assert.deepEqual(fields.find(({ manager }) => manager === 'kubectl')?.['fieldsV1'], {
    'f:spec': { 'f:replicas': {} },
  });
});
