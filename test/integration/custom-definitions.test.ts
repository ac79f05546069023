// Definitions of custom resources come and go: their names, what their objects hold up, and what fails on the way.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { FailingStorage } from '../../src/storage/testing/failing-storage.ts';
import { LaggingStorage } from '../../src/storage/testing/lagging-storage.ts';
import { eventually } from '../harness/eventually.ts';
import { crds, define, definition, path } from './custom-definitions.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const merge = { contentType: 'application/merge-patch+json' };

test('names that another definition has are refused, and it is not served', async () => {
  await define(cluster, 'apples', 'Fruit');
  await cluster.ask('POST', crds, definition('pears', 'Fruit'));
  await eventually(
    async () => {
      const { body } = await cluster.ask('GET', `${crds}/pears.test.example.com`);
      const { conditions } = body['status'] as {
        conditions: { type: string; status: string; message: string }[];
      };
      assert.deepEqual(
        conditions.map((c) => `${c.type}=${c.status}: ${c.message}`),
        [
          'NamesAccepted=False: "FruitList" is already in use',
          'Established=False: not all names are accepted',
        ],
      );
    },
    { everyMs: 5 },
  );
  assert.equal((await cluster.ask('GET', path('pears'))).status, 404);
  // Who has the names gives them back: they go to who was refused them.
  await cluster.ask('DELETE', `${crds}/apples.test.example.com`);
  await eventually(async () => assert.equal((await cluster.ask('GET', path('pears'))).status, 200), {
    everyMs: 5,
  });
});

test('a definition goes after its objects, and those after their finalizers', async () => {
  await define(cluster, 'stones', 'Stone');
  await cluster.ask('POST', path('stones'), { metadata: { name: 'light' } });
  await cluster.ask('POST', path('stones'), {
    metadata: { name: 'heavy', finalizers: ['example.com/hold'] },
  });
  await cluster.ask('DELETE', `${crds}/stones.test.example.com`);
  await eventually(
    async () => assert.equal((await cluster.ask('GET', `${path('stones')}/light`)).status, 404),
    { everyMs: 5 },
  );
  const held = await cluster.ask('GET', `${crds}/stones.test.example.com`);
  assert.equal(held.status, 200);
  // Also not by an apply; what is there may be changed, or nobody could take the finalizers away.
  const apply = { contentType: 'application/apply-patch+yaml' };
  const stone = { apiVersion: 'test.example.com/v1', kind: 'Stone', metadata: { name: 'new' } };
  for (const refused of [
    await cluster.ask('POST', path('stones'), { metadata: { name: 'new' } }),
    await cluster.ask('PATCH', `${path('stones')}/new?fieldManager=me`, stone, apply),
  ]) {
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body['message'],
      'stones.test.example.com "new" is forbidden: create not allowed while custom resource definition is terminating',
    );
  }
  const discovered = await cluster.ask('GET', '/apis/test.example.com/v1');
  const stones = (discovered.body['resources'] as { name: string; verbs: string[] }[]).find(
    ({ name }) => name === 'stones',
  );
  assert.deepEqual(stones?.verbs, ['delete', 'deletecollection', 'get', 'list', 'watch']);
  await cluster.ask('PATCH', `${path('stones')}/heavy`, { metadata: { finalizers: null } }, merge);
  await eventually(
    async () => assert.equal((await cluster.ask('GET', `${crds}/stones.test.example.com`)).status, 404),
    { everyMs: 5 },
  );
  assert.equal((await cluster.ask('GET', path('stones'))).status, 404);
});

test('a definition whose status could not be written is served as soon as it can be', async (t) => {
  const storage = new FailingStorage(new MemoryStorage(systemClock));
  const create = storage.create.bind(storage);
  storage.create = async (key, draft) => {
    const made = await create(key, draft);
    // The next write is that of its status.
    if (key.includes('/customresourcedefinitions/')) storage.loseAnswer('not stored', key);
    return made;
  };
  const plane = await startTestControlPlane({ storage });
  t.after(() => plane.close());
  assert.equal((await plane.ask('POST', crds, definition('lates', 'Late'))).status, 201);
  await eventually(async () => assert.equal((await plane.ask('GET', path('lates'))).status, 200), {
    everyMs: 5,
  });
});

test('objects are counted also where the version that is stored is not served', async () => {
  const unserved = definition('hiddens', 'Hidden', { storage: false }) as {
    spec: { versions: { served: boolean; storage: boolean }[] };
  };
  Object.assign(unserved.spec.versions[1]!, { served: false, storage: true });
  assert.equal((await cluster.ask('POST', crds, unserved)).status, 201);
  await eventually(
    async () =>
      assert.equal(
        (await cluster.ask('POST', path('hiddens'), { kind: 'Hidden', metadata: { name: 'a' } })).status,
        201,
      ),
    { everyMs: 5 },
  );
  assert.match(
    (await cluster.metrics.text()).text,
    /^apiserver_resource_objects\{group="test.example.com",resource="hiddens"\} 1$/m,
  );
});

test('a server that has stopped tries no definition again', async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage(clock);
  const update = storage.update.bind(storage);
  storage.update = (key, ...more) =>
    key.includes('/customresourcedefinitions/') ? Promise.reject(new Error('no')) : update(key, ...more);
  const plane = await startTestControlPlane({ storage, clock });
  const before = clock.pending;
  assert.equal((await plane.ask('POST', crds, definition('lates', 'Late'))).status, 201);
  await eventually(async () => assert.equal(clock.pending, before + 1), { everyMs: 5 });
  await plane.close();
  assert.ok(clock.pending <= before, `${clock.pending} timers are left`);
});

test('a definition is served by the names that it was given, not by those that it asks for in vain', async () => {
  await define(cluster, 'owls', 'Owl');
  await define(cluster, 'larks', 'Lark');
  const url = `${crds}/larks.test.example.com`;
  const names = { listKind: 'OwlList', shortNames: ['owl'], categories: ['birds'] };
  const asked = await cluster.ask('PATCH', url, { spec: { names } }, merge);
  assert.equal(asked.status, 200, asked.text);
  const conditions = async (): Promise<unknown[]> => {
    const { status } = (await cluster.ask('GET', url)).body as never as {
      status: {
        conditions: { type: string; status: string; reason: string }[];
        acceptedNames: { listKind: string };
      };
    };
    return [
      ...status.conditions.map((c) => `${c.type}=${c.status} ${c.reason}`),
      status.acceptedNames.listKind,
    ];
  };
  await eventually(async () =>
    assert.deepEqual(await conditions(), [
      'NamesAccepted=False ListKindConflict',
      'Established=True InitialNamesAccepted',
      'LarkList',
    ]),
  );
  assert.equal((await cluster.ask('GET', path('larks'))).body['kind'], 'LarkList');
  assert.equal((await cluster.ask('GET', path('owls'))).body['kind'], 'OwlList');
  const { body } = await cluster.ask('GET', '/apis/test.example.com/v1');
  const found = (body['resources'] as { name: string; shortNames?: string[]; categories?: string[] }[]).find(
    ({ name }) => name === 'larks',
  );
  // What is free of the new names is taken over.
  assert.deepEqual([found?.shortNames, found?.categories], [undefined, ['birds']]);
});

test('a definition that serves no version any more goes with its objects, and says how far it is', async () => {
  await define(cluster, 'moths', 'Moth');
  const url = `${crds}/moths.test.example.com`;
  const finalizers = ['hold.example.com/it'];
  const held = await cluster.ask('POST', path('moths'), { metadata: { name: 'a', finalizers } });
  await cluster.ask('POST', path('moths', 'v2'), { metadata: { name: 'b' } });
  const { spec } = (await cluster.ask('GET', url)).body as never as { spec: { versions: object[] } };
  const unserved = (served: boolean) => ({
    spec: { versions: spec.versions.map((version) => ({ ...version, served })) },
  });
  assert.equal((await cluster.ask('PATCH', url, unserved(false), merge)).status, 200);
  await eventually(async () => assert.equal((await cluster.ask('GET', path('moths'))).status, 404));
  assert.equal((await cluster.ask('DELETE', url)).status, 200);
  const terminating = async (): Promise<unknown> => {
    const { status } = (await cluster.ask('GET', url)).body as never as {
      status: { conditions: { type: string; status: string; reason: string; message: string }[] };
    };
    const { reason, message } = status.conditions.find(({ type }) => type === 'Terminating')!;
    return [reason, message];
  };
  await eventually(async () =>
    assert.deepEqual(await terminating(), [
      'InstanceDeletionInProgress',
      'CustomResource deletion is in progress',
    ]),
  );
  // One is held: whoever holds it needs a version to let it go.
  assert.equal((await cluster.ask('PATCH', url, unserved(true), merge)).status, 200);
  await eventually(async () => {
    const { items } = (await cluster.ask('GET', path('moths'))).body as { items?: object[] };
    assert.equal(items?.length, 1);
  });
  const freed = await cluster.ask('PATCH', `${path('moths')}/a`, { metadata: { finalizers: null } }, merge);
  assert.equal(freed.status, 200, `${held.text} ${freed.text}`);
  await eventually(async () => assert.equal((await cluster.ask('GET', url)).status, 404));
});

test('a definition whose objects can not be deleted says so once, and is tried again less and less often', async (t) => {
  const clock = new FakeClock();
  // Its watch tells of a write after its answer, as that of a store on disk.
  const storage = new LaggingStorage(new MemoryStorage(clock));
  const remove = storage.delete.bind(storage);
  let attempts = 0;
  let stuck = true;
  storage.delete = async (key, last, expected) => {
    if (!key.includes('/mules/')) return remove(key, last, expected);
    attempts++;
    if (stuck) throw new Error('it does not move');
    return remove(key, last, expected);
  };
  const plane = await startTestControlPlane({ storage, clock });
  t.after(() => plane.close());
  assert.equal((await plane.ask('POST', crds, definition('mules', 'Mule'))).status, 201);
  await eventually(async () =>
    assert.equal((await plane.ask('POST', path('mules'), { metadata: { name: 'a' } })).status, 201),
  );
  const url = `${crds}/mules.test.example.com`;
  const idle = clock.pending;
  const rests = (): Promise<void> => eventually(() => assert.equal(clock.pending, idle + 1), { everyMs: 5 });
  assert.equal((await plane.ask('DELETE', url)).status, 200);
  const told = async (): Promise<string> => {
    const { status } = (await plane.ask('GET', url)).body as never as {
      status: { conditions: { type: string; reason: string; message: string }[] };
    };
    const { reason, message } = status.conditions.find(({ type }) => type === 'Terminating')!;
    return `${reason}: ${message}`;
  };
  const failed = /^InstanceDeletionFailed: could not issue all deletes: .*it does not move/;
  await eventually(async () => assert.match(await told(), failed));
  await rests();
  // Other definitions are no reason to try again.
  for (const other of ['Ass', 'Ox', 'Yak']) {
    const plural = `${other.toLowerCase()}s`;
    assert.equal((await plane.ask('POST', crds, definition(plural, other))).status, 201);
    await eventually(async () => assert.equal((await plane.ask('GET', path(plural))).status, 200));
  }
  assert.equal(attempts, 1);
  for (const [ms, times] of [
    [500, 2],
    [999, 2],
    [1, 3],
  ] as const) {
    clock.advance(ms);
    await eventually(() => assert.equal(attempts, times), { everyMs: 5 });
    await rests();
    assert.match(await told(), failed);
  }
  stuck = false;
  clock.advance(2_000);
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 404), { everyMs: 5 });
});

test('objects of a definition are deleted together: one by one they never end while others are written', async (t) => {
  const storage = new MemoryStorage(systemClock);
  const remove = storage.delete.bind(storage);
  const together = Promise.withResolvers<void>();
  let underWay = 0;
  storage.delete = async (key, last, expected) => {
    if (key.includes('/geese/')) {
      if (++underWay === 8) together.resolve();
      await together.promise;
    }
    return remove(key, last, expected);
  };
  const plane = await startTestControlPlane({ storage });
  t.after(() => plane.close());
  await define(plane, 'geese', 'Goose');
  for (let i = 0; i < 10; i++) await plane.ask('POST', path('geese'), { metadata: { name: `g${i}` } });
  const url = `${crds}/geese.test.example.com`;
  await plane.ask('DELETE', url);
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 404), { everyMs: 5 });
});

test('a definition that keeps failing does not put off the next try of another', async (t) => {
  const clock = new FakeClock();
  const storage = new MemoryStorage(clock);
  const attempts = { mules: 0, yaks: 0 };
  storage.delete = async (key) => {
    attempts[key.includes('/mules/') ? 'mules' : 'yaks']++;
    throw new Error('it does not move');
  };
  const plane = await startTestControlPlane({ storage, clock });
  t.after(() => plane.close());
  for (const [plural, kind] of [
    ['mules', 'Mule'],
    ['yaks', 'Yak'],
  ] as const) {
    assert.equal((await plane.ask('POST', crds, definition(plural, kind))).status, 201);
    await eventually(async () =>
      assert.equal((await plane.ask('POST', path(plural), { metadata: { name: 'a' } })).status, 201),
    );
  }
  const idle = clock.pending;
  const tried = async (mules: number, yaks: number): Promise<void> => {
    const resting = idle + Math.sign(mules) + Math.sign(yaks);
    await eventually(() => assert.deepEqual([attempts, clock.pending], [{ mules, yaks }, resting]), {
      everyMs: 5,
    });
  };
  assert.equal((await plane.ask('DELETE', `${crds}/mules.test.example.com`)).status, 200);
  await tried(1, 0);
  clock.advance(500);
  await tried(2, 0);
  clock.advance(999);
  assert.equal((await plane.ask('DELETE', `${crds}/yaks.test.example.com`)).status, 200);
  await tried(2, 1);
  clock.advance(1);
  await tried(3, 1);
  clock.advance(499);
  await tried(3, 2);
});

test('what the server says of a definition is its own, and a deletion is told by its time alone, as upstream', async () => {
  await define(cluster, 'plums', 'Plum');
  const plums = `${crds}/plums.test.example.com`;
  interface Owned {
    metadata: {
      generation: number;
      deletionTimestamp?: string;
      deletionGracePeriodSeconds?: number;
      managedFields: { manager: string; operation: string; subresource?: string; fieldsV1: object }[];
    };
  }
  const metadataOf = async (): Promise<Owned['metadata']> =>
    ((await cluster.ask('GET', plums)).body as unknown as Owned).metadata;
  const condition = {
    '.': {},
    'f:lastTransitionTime': {},
    'f:message': {},
    'f:reason': {},
    'f:status': {},
    'f:type': {},
  };
  const before = await metadataOf();
  const ofServer = before.managedFields.filter(({ manager }) => manager === 'kube-apiserver');
  assert.deepEqual(
    ofServer.map(({ operation, subresource, fieldsV1 }) => ({ operation, subresource, fieldsV1 })),
    [
      {
        operation: 'Update',
        subresource: 'status',
        fieldsV1: {
          'f:status': {
            'f:acceptedNames': { 'f:kind': {}, 'f:listKind': {}, 'f:plural': {}, 'f:singular': {} },
            'f:conditions': {
              'k:{"type":"Established"}': condition,
              'k:{"type":"NamesAccepted"}': condition,
            },
          },
        },
      },
    ],
  );
  await cluster.ask('PATCH', plums, { metadata: { finalizers: ['test.example.com/held'] } }, merge);
  const { body } = await cluster.ask('DELETE', plums);
  const { metadata } = body as unknown as Owned;
  assert.equal(typeof metadata.deletionTimestamp, 'string');
  assert.equal(metadata.deletionGracePeriodSeconds, undefined);
  assert.equal(metadata.generation, before.generation);
  await cluster.ask('PATCH', plums, { metadata: { finalizers: null } }, merge);
});

test('a prefix is held to the rule of names as well, though a name was given', async () => {
  await define(cluster, 'figs', 'Fig');
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const refused = (prefix: string): string => `metadata.generateName: Invalid value: "${prefix}": ${rule}`;
  const fig = (metadata: object) => cluster.ask('POST', path('figs'), { metadata });
  for (const prefix of ['Bad_', 'a.', '-']) {
    const { status, message } = await fig({ name: 'fig', generateName: prefix });
    assert.equal(status, 422);
    assert.equal(message, `Fig.test.example.com "fig" is invalid: ${refused(prefix)}`);
    const map = await cluster.ask('POST', '/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'fig', generateName: prefix },
    });
    assert.equal(map.message, `ConfigMap "fig" is invalid: ${refused(prefix)}`);
  }
  assert.equal((await fig({ name: 'fig', generateName: 'fig-' })).status, 201);
  assert.equal((await fig({ generateName: 'fig-' })).status, 201);
  const named = await cluster.ask('POST', crds, {
    ...definition('dates', 'Date'),
    metadata: { name: 'dates.test.example.com', generateName: 'dates-' },
  });
  assert.equal(
    named.message,
    'CustomResourceDefinition.apiextensions.k8s.io "dates.test.example.com" is invalid: metadata.generateName: Invalid value: "dates-": must be spec.names.plural+"."+spec.group',
  );
});
