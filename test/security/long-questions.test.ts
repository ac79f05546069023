// Answers about rights are kept for who asks again: questions of megabytes, each of another text, fill no memory.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

const heapMb = (): number => {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
};

test('anybody may ask for their own rights in a namespace of any length, and no answer is kept with it', async () => {
  const plane = await startTestControlPlane();
  after(() => plane.close());
  const askOf = async (namespace: string): Promise<void> => {
    const { status } = await plane.ask(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { spec: { resourceAttributes: { namespace, verb: 'get', resource: 'pods' } } },
      { user: user('anybody') },
    );
    assert.equal(status, 201);
  };
  await askOf('default');
  const before = heapMb();
  for (let i = 0; i < 40; i++) await askOf(`${i}${'x'.repeat(2 << 20)}`);
  assert.ok(heapMb() - before < 40, `${heapMb() - before} MB`);
});
