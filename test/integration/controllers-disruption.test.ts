// Disruption budgets and evictions through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  configmaps,
  deployments,
  namespaces,
  poddisruptionbudgets,
  pods,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { controllerReference } from '../../src/controller-runtime/owner-reference.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'steady';

describe('disruption-controller', () => {
  it('lets one pod be evicted, refuses the next, and lets it go when another is ready', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const matchLabels = { app: 'a' };
    await client.create(poddisruptionbudgets, {
      metadata: { name: 'b', namespace },
      spec: { selector: { matchLabels }, maxUnavailable: 1 },
    });
    await client.create(deployments, {
      metadata: { name: 'a', namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels },
        template: {
          metadata: { labels: matchLabels } as never,
          spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] },
        },
      },
    });
    const allowed = (n: number): Promise<true> =>
      until(
        poddisruptionbudgets,
        (l) => {
          const status = l.get('b', namespace)?.status;
          return status?.disruptionsAllowed === n && status.expectedPods === 2;
        },
        `${n} disruptions allowed`,
      );
    const makeReady = async (): Promise<string[]> => {
      const all = await until(pods, (l) => l.list(namespace).length === 2 && l.list(namespace), 'two pods');
      const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
      for (const { metadata } of all)
        await client.patch(pods, metadata, { type: 'strategic', body }, { subresource: 'status' });
      return all.map(({ metadata }) => metadata.name);
    };
    const evict = (name: string, named: string | undefined = name): Promise<unknown> =>
      client.createSubresource(pods, { name, namespace }, 'eviction', {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: named, namespace },
      });
    await allowed(0);
    const [first = '', second = ''] = await makeReady();
    await allowed(1);
    for (const named of ['', second])
      await assert.rejects(evict(first, named), {
        message: 'name in URL does not match name in Eviction object',
      });
    await evict(first);
    const { status } = await client.get(poddisruptionbudgets, { name: 'b', namespace });
    const [condition] = status?.conditions ?? [];
    assert.deepEqual(
      [status?.disruptionsAllowed, condition?.type, condition?.status, condition?.reason],
      [0, 'DisruptionAllowed', 'False', 'InsufficientPods'],
    );
    await assert.rejects(evict(second), (error: unknown) => isStatusError(error, 'TooManyRequests'));
    await until(pods, (l) => l.get(first, namespace) === undefined, 'the pod is gone');
    await makeReady();
    await allowed(1);
    const of = (apiVersion: string): object => ({
      apiVersion,
      kind: 'Eviction',
      metadata: { name: second, namespace },
    });
    const send = (apiVersion: string): Promise<unknown> =>
      client.createSubresource(pods, { name: second, namespace }, 'eviction', of(apiVersion));
    await assert.rejects(send('policy/v2'), {
      message: 'the API version in the data (policy/v2) does not match the expected API version (policy/v1)',
    });
    // Clients of before Kubernetes 1.22 say so; it is the same form.
    await send('policy/v1beta1');
  });

  it('says of a kind of owner that has no number of pods that it has none', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const owner = await client.create(configmaps, { metadata: { name: 'owner', namespace } });
    await until(serviceaccounts, (l) => l.get('default', namespace), 'the account of its pods');
    const labels = { app: 'a' };
    await client.create(poddisruptionbudgets, {
      metadata: { name: 'b', namespace },
      spec: { selector: { matchLabels: labels }, maxUnavailable: 1 },
    });
    await client.create(pods, {
      metadata: { name: 'p', namespace, labels, ownerReferences: [controllerReference(configmaps, owner)] },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    await until(
      poddisruptionbudgets,
      (l) =>
        l
          .get('b', namespace)
          ?.status?.conditions?.some(({ message }) =>
            message.includes('configmaps does not implement the scale subresource'),
          ),
      'the budget says why it allows nothing',
    );
    const running = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
    const p = { name: 'p', namespace };
    await client.patch(pods, p, { type: 'strategic', body: running }, { subresource: 'status' });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: p };
    await assert.rejects(client.createSubresource(pods, p, 'eviction', eviction), (error: unknown) => {
      assert.ok(isStatusError(error, 'TooManyRequests'));
      const [cause] = error.status.details?.causes ?? [];
      assert.match(
        cause?.message ?? '',
        /^The disruption budget b does not allow evicting pods currently because it failed sync: .*scale subresource/,
      );
      return true;
    });
  });
});
