// A DaemonSet's count of templates, in the annotation in which upstream keeps it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const url = '/apis/apps/v1/namespaces/default/daemonsets';
const annotation = 'deprecated.daemonset.template.generation';

const set = (name: string, image: string, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image, imagePullPolicy: 'Always' }] },
    },
  },
});
interface Metadata {
  readonly annotations: Readonly<Record<string, string>>;
  readonly generation: number;
  readonly managedFields: readonly { fieldsV1: Record<string, Record<string, Record<string, object>>> }[];
}
const metaOf = ({ body }: { body: Record<string, unknown> }): Metadata => body['metadata'] as Metadata;
const countOf = (answer: { body: Record<string, unknown> }): string | undefined =>
  metaOf(answer).annotations[annotation];

test('it begins with one, and each new template is one more; nothing else counts', async () => {
  const made = await ask('POST', url, set('a', 'one'));
  assert.equal(countOf(made), '1');
  assert.ok(metaOf(made).managedFields[0]!.fieldsV1['f:metadata']!['f:annotations']![`f:${annotation}`]);
  assert.equal(countOf(await ask('PATCH', `${url}/a`, { metadata: { labels: { x: 'y' } } })), '1');
  const other = await ask('PATCH', `${url}/a`, { spec: { minReadySeconds: 5 } });
  assert.deepEqual([countOf(other), metaOf(other).generation], ['1', 2]);
  const second = await ask('PUT', `${url}/a`, set('a', 'two'));
  assert.deepEqual([second.status, countOf(second), metaOf(second).generation], [200, '2', 3]);
  const status = await ask('PATCH', `${url}/a/status`, { status: { numberReady: 1 } });
  assert.equal(countOf(status), '2');
  assert.equal(countOf(await ask('GET', `${url}/a`)), '2');
});

test('a number that is sent with a new set holds; later nobody sets it', async () => {
  const made = await ask('POST', url, set('b', 'one', { annotations: { [annotation]: '7' } }));
  assert.equal(countOf(made), '7');
  for (const value of ['9', null])
    assert.equal(
      countOf(await ask('PATCH', `${url}/b`, { metadata: { annotations: { [annotation]: value } } })),
      '7',
    );
  assert.equal(countOf(await ask('PUT', `${url}/b`, set('b', 'two'))), '8');
  assert.equal(
    countOf(await ask('POST', url, set('c', 'one', { annotations: { [annotation]: '-3' } }))),
    '1',
  );
  // The largest there is, and what Go makes of one more.
  const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)].map(String);
  const large = await ask('POST', url, set('f', 'one', { annotations: { [annotation]: most } }));
  assert.equal(countOf(large), most);
  assert.equal(countOf(await ask('PATCH', `${url}/f`, { metadata: { labels: { x: 'y' } } })), most);
  assert.equal(countOf(await ask('PUT', `${url}/f`, set('f', 'two'))), least);
});

test('what is no number is refused in upstream’s words, however long it is', async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['x', 'invalid syntax'],
    ['', 'invalid syntax'],
    ['9223372036854775808', 'value out of range'],
    ['1'.repeat(100_000), 'value out of range'],
  ];
  for (const [text, why] of cases) {
    const answer = await ask('POST', url, set('d', 'one', { annotations: { [annotation]: text } }));
    assert.deepEqual(
      [answer.status, answer.message],
      [
        400,
        `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "${text}": ${why}`,
      ],
    );
  }
});

test('the same apply, update or patch again changes nothing', async () => {
  const object = { apiVersion: 'apps/v1', kind: 'DaemonSet', ...set('e', 'one') };
  const apply = (manager: string) =>
    ask('PATCH', `${url}/e?fieldManager=${manager}`, object, { contentType: 'application/apply-patch+yaml' });
  const made = await apply('a');
  assert.deepEqual([made.status, countOf(made)], [201, '1']);
  const versionOf = (answer: { body: Record<string, unknown> }): unknown =>
    (answer.body['metadata'] as { resourceVersion: string }).resourceVersion;
  assert.equal(versionOf(await apply('a')), versionOf(made));
  const put = await ask('PUT', `${url}/e`, object);
  assert.equal(countOf(put), '1');
  assert.equal(versionOf(await ask('PUT', `${url}/e`, object)), versionOf(put));
  const patched = await ask('PATCH', `${url}/e`, { spec: { minReadySeconds: 0 } });
  assert.equal(versionOf(patched), versionOf(put));
});
