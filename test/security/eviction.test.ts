// Evictions that say they are only tried, budgets that are wrong or full, and pods that are ready to nobody.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const core = '/api/v1/namespaces/default';
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const made = async (answer: Promise<Answer>): Promise<void> => {
  const { status, text } = await answer;
  assert.ok(status === 200 || status === 201, text);
};
await made(ask('POST', `${core}/serviceaccounts`, { metadata: { name: 'default' } }));

async function pod(name: string, status: object): Promise<void> {
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
  await made(ask('POST', `${core}/pods`, { metadata: { name, labels: { app: name } }, spec }));
  await made(ask('PATCH', `${core}/pods/${name}/status`, { status }));
}
async function budget(name: string, status: object, spec: object = {}): Promise<void> {
  const whole = { selector: { matchLabels: { app: name } }, minAvailable: 1, ...spec };
  await made(ask('POST', budgets, { metadata: { name }, spec: whole }));
  const base = { observedGeneration: 1, desiredHealthy: 1, currentHealthy: 0, expectedPods: 1 };
  await made(ask('PATCH', `${budgets}/${name}/status`, { status: { ...base, ...status } }));
}
const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };

const evict = (name: string, deleteOptions: object = {}, query = ''): Promise<Answer> =>
  ask('POST', `${core}/pods/${name}/eviction${query}`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name },
    deleteOptions,
  });
const isLeaving = async (name: string): Promise<boolean> => {
  const { status, body } = await ask('GET', `${core}/pods/${name}`);
  return (
    status === 404 || (body['metadata'] as { deletionTimestamp?: string }).deletionTimestamp !== undefined
  );
};

test('an eviction that says in its body that it is a dry run evicts nobody and spends nothing', async () => {
  await pod('dry', ready);
  await budget('dry', { disruptionsAllowed: 1 });
  assert.equal((await evict('dry', { dryRun: ['All'] })).status, 201);
  assert.equal((await evict('dry', { dryRun: ['All'] }, '?dryRun=All')).status, 201);
  assert.equal((await evict('dry', {}, '?dryRun=All')).status, 201);
  assert.equal(await isLeaving('dry'), false);
  const { body } = await ask('GET', `${budgets}/dry`);
  assert.equal((body['status'] as { disruptionsAllowed: number }).disruptionsAllowed, 1);
  const both = await evict('dry', { dryRun: ['All', 'All'] }, '?dryRun=All');
  assert.equal(both.status, 500);
  assert.match(both.message, /Non-matching dry-run options in request and content: \[All\] and \[All All\]$/);
  assert.equal((await evict('dry')).status, 201);
  assert.equal(await isLeaving('dry'), true);
});

test('a deletion that asks for a dry run by another word deletes nothing', async () => {
  await made(ask('POST', `${core}/configmaps`, { metadata: { name: 'kept' } }));
  for (const dryRun of [['all'], ['All', 'none'], ['']])
    for (const url of [`${core}/configmaps/kept`, `${core}/configmaps`]) {
      const answer = await ask('DELETE', url, { kind: 'DeleteOptions', apiVersion: 'v1', dryRun });
      assert.equal(answer.status, 422, answer.text);
      assert.match(answer.message, /dryRun: Unsupported value: .*: supported values: "All"$/);
    }
  assert.equal((await ask('GET', `${core}/configmaps/kept`)).status, 200);
});

test('a pod that is not ready spends nothing of a budget that is kept, or that lets such pods go', async () => {
  await pod('kept', unready);
  await budget('kept', { disruptionsAllowed: 0, currentHealthy: 1 });
  assert.equal((await evict('kept')).status, 201);
  assert.equal(await isLeaving('kept'), true);
  await pod('broken', unready);
  await budget('broken', { disruptionsAllowed: 0 });
  assert.equal((await evict('broken')).status, 429);
  await made(ask('PATCH', `${budgets}/broken`, { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } }));
  assert.equal((await evict('broken')).status, 201);
  assert.equal(await isLeaving('broken'), true);
});

test('a budget that its controller does not keep up with lets nobody go', async () => {
  await pod('full', ready);
  const now = '2026-01-01T00:00:00Z';
  const disruptedPods = Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`p${i}`, now]));
  await budget('full', { disruptionsAllowed: 5, disruptedPods });
  const answer = await evict('full');
  assert.equal(answer.status, 403, answer.text);
  assert.match(
    answer.message,
    /DisruptedPods map too big - too many evictions not confirmed by PDB controller$/,
  );
  assert.equal(await isLeaving('full'), false);
});

test('a pod says of itself that it goes by an eviction; it says nothing when it stays', async () => {
  await pod('told', ready);
  const read = async (): Promise<{ uid: string; resourceVersion: string; targets: object[] }> => {
    const { body } = await ask('GET', `${core}/pods/told`);
    const { uid, resourceVersion } = body['metadata'] as { uid: string; resourceVersion: string };
    const { conditions } = body['status'] as { conditions: { type: string }[] };
    return { uid, resourceVersion, targets: conditions.filter(({ type }) => type === 'DisruptionTarget') };
  };
  const before = await read();
  assert.equal((await evict('told', { dryRun: ['All'] })).status, 201);
  assert.equal((await evict('told', { preconditions: { uid: 'another' } })).status, 409);
  assert.equal((await evict('told', { preconditions: { resourceVersion: '1' } })).status, 409);
  assert.deepEqual(await read(), before);
  // What it writes of it itself is no change that somebody made meanwhile.
  const { uid, resourceVersion } = before;
  assert.equal((await evict('told', { preconditions: { uid, resourceVersion } })).status, 201);
  assert.equal(await isLeaving('told'), true);
  const [target, ...more] = (await read()).targets as { [field: string]: string }[];
  const { status, reason, message } = target ?? {};
  assert.deepEqual(
    [status, reason, message, more],
    ['True', 'EvictionByEvictionAPI', 'Eviction API: evicting', []],
  );
});
