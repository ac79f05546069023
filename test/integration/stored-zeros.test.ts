// What an older server stored with Go's zero values in it: to read it anew is no change, nothing is refused or rolled out for it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { decodeEntry, encodeDraft } from '../../src/apiserver/registry/encode.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';

const container = { name: 'c', image: 'i' };
const pod = { containers: [container] };
const deployment = {
  selector: { matchLabels: { a: 'b' } },
  template: { metadata: { labels: { a: 'b' } }, spec: pod },
};

/** The zeros that clients like to write. */
function withZeros(spec: JsonObject): JsonObject {
  const containers = (spec['containers'] as JsonObject[]).map((one) => ({
    ...one,
    stdin: false,
    tty: false,
  }));
  return { ...spec, hostNetwork: false, hostname: '', containers };
}

const rows = [
  {
    what: 'pods',
    path: '/api/v1/namespaces/default/pods',
    spec: pod,
    old: withZeros,
  },
  {
    what: 'deployments',
    path: '/apis/apps/v1/namespaces/default/deployments',
    spec: deployment,
    old: ({ template, ...spec }: JsonObject): JsonObject => ({
      ...spec,
      paused: false,
      minReadySeconds: 0,
      template: {
        ...(template as JsonObject),
        spec: withZeros((template as JsonObject)['spec'] as JsonObject),
      },
    }),
  },
];

for (const { what, path, spec, old } of rows)
  test(`${what} with zeros in them are changed where they are changed, and nowhere else`, async (t) => {
    const storage = new MemoryStorage(systemClock);
    const before = await startTestControlPlane({ storage });
    t.after(() => before.close());
    await before.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const made = await before.ask('POST', path, { metadata: { name: 'old', labels: { a: 'b' } }, spec });
    assert.equal(made.status, 201, made.text);
    const { entries } = await storage.list('');
    const entry = entries.find(({ key }) => key.endsWith(`${what}/default/old`))!;
    const stored = decodeEntry(entry.value);
    const zeros = { ...stored, spec: old(stored['spec'] as JsonObject) };
    await storage.update(entry.key, encodeDraft(zeros), entry.revision);

    const plane = await startTestControlPlane({ storage, pki: before.pki });
    const labelled = await plane.ask('PATCH', `${path}/old`, { metadata: { labels: { more: 'said' } } });
    assert.equal(labelled.status, 200, labelled.text);
    const { generation } = made.body['metadata'] as JsonObject;
    assert.equal((labelled.body['metadata'] as JsonObject)['generation'], generation, 'the spec is the same');
    assert.deepEqual(labelled.body['spec'], made.body['spec']);
  });
