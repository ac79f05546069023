// Somebody sets the machine's clock, by an hour or by ten years, while everything runs: no node is given up, no watch ends, no
// revision goes back, tokens are judged by the time that it is now, and pods are scheduled.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  configmaps,
  leases,
  namespaces,
  nodes,
  pods,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import { type Clock, rfc3339, rfc3339Micro } from '../../src/base/clock.ts';
import type { Client } from '../../src/client/client.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { startAllControllers } from '../../src/controllers/start-controllers.ts';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';

const hour = 3_600_000;
const year = 365 * 24 * hour;
const jumps = [hour, 0, -hour, 0, 10 * year, 0, -10 * year, 0, 2 * hour, -2 * hour, 0];
const graceMs = 3_000;
const leaseNamespace = 'kube-node-lease';

/** The machine's clock, which can be set; timers and what is measured go on. */
class SetClock implements Clock {
  shift = 0;
  now(): number {
    return systemClock.now() + this.shift;
  }
  monotonic(): number {
    return systemClock.monotonic();
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }
  timer(ms: number, run: () => void): () => void {
    return systemClock.timer(ms, run);
  }
}

async function startAll(t: TestContext, clock: Clock): ReturnType<typeof startTestControlPlane> {
  const server = await startTestControlPlane({ clock });
  const ended = new AbortController();
  const common = { clock, random: systemRandom, log: silentLogger, metrics: server.metrics };
  const client = server.controlPlane.clientFor(administrator);
  const informers = frozenInformers({ client, ...common });
  const running = startAllControllers(
    { ...common, clientFor: server.controlPlane.clientFor, informers, signal: ended.signal },
    {
      rootCa: { now: () => 'PEM' },
      signers: server.pki.signers,
      clusterCIDRs: ['10.244.0.0/16'],
      nodeMonitorGracePeriodMs: graceMs,
    },
  );
  t.after(async () => {
    ended.abort();
    await running.done;
    await informers.stop();
    await server.close();
  });
  await running.ready;
  return server;
}

/** A node that says that it is ready, once. */
async function addNode(client: Client, clock: Clock, name: string): Promise<void> {
  await client.create(nodes, { metadata: { name } } as never);
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }];
  const patch = { type: 'merge', body: { status: { conditions } } } as const;
  await client.patch(nodes, { name }, patch, { subresource: 'status' });
  const renewTime = rfc3339Micro(clock.now());
  await client.create(leases, {
    metadata: { name, namespace: leaseNamespace },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
  } as never);
}

const readyOf = (node: {
  status?: { conditions?: { type: string; status: string }[] };
}): string | undefined => node.status?.conditions?.find((one) => one.type === 'Ready')?.status;

test('a clock that is set forward and back by an hour and by ten years', async (t) => {
  const clock = new SetClock();
  const server = await startAll(t, clock);
  const client = server.controlPlane.clientFor(administrator);
  await client
    .create(namespaces, {
      metadata: { name: leaseNamespace },
    } as never)
    .catch(() => undefined);
  await addNode(client, clock, 'alive');
  const seen: (string | undefined)[] = [];
  const names: string[] = [];
  const ending = new AbortController();
  t.after(() => ending.abort());
  const options = { timeoutSeconds: 600, signal: ending.signal };
  const watching = (async () => {
    for await (const event of client.watch(nodes, options))
      if (event.type === 'ADDED' || event.type === 'MODIFIED') seen.push(readyOf(event.object as never));
  })();
  const following = (async () => {
    for await (const event of client.watch(configmaps, { ...options, namespace: 'default' }))
      if (event.type === 'ADDED') names.push(event.object.metadata!.name!);
  })();
  await eventually(() => client.get(serviceaccounts, { name: 'default', namespace: 'default' }));
  const made = await server.ask('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3_600 },
  });
  assert.equal(made.status, 201, made.message);
  const { token } = made.body.status as { token: string };
  let revision = 0;
  const judged: string[] = [];
  for (const [i, shift] of jumps.entries()) {
    clock.shift = shift;
    // Whatever makes the controller look at the node, before it is heard of again.
    const labels = { jump: String(i) };
    await client.patch(nodes, { name: 'alive' }, { type: 'merge', body: { metadata: { labels } } });
    const object = await client.create(configmaps, { metadata: { name: `jump-${i}`, namespace: 'default' } });
    const { resourceVersion, creationTimestamp = '' } = object.metadata!;
    assert.ok(Number(resourceVersion) > revision, `${resourceVersion} after ${revision}`);
    revision = Number(resourceVersion);
    assert.ok(Math.abs(Date.parse(creationTimestamp) - clock.now()) < 60_000, creationTimestamp);
    // Before it was issued, and after it has ended, nobody takes it.
    const { status } = await server.ask('GET', '/version', undefined, { token });
    const good = shift >= 0 && shift < hour;
    judged.push(`${shift / hour} h: ${status}`);
    assert.equal(status, good ? 200 : 401, judged.join(', '));
    await eventually(() => assert.ok(names.includes(`jump-${i}`), 'the watch has ended'), { everyMs: 5 });
    const renewTime = rfc3339Micro(clock.now() + i);
    const key = { name: 'alive', namespace: leaseNamespace };
    await client.patch(leases, key, { type: 'merge', body: { spec: { renewTime } } });
  }
  // The controller does look: once nothing more is heard, it says so.
  const before = seen.length;
  assert.deepEqual(new Set(seen), new Set(['True']), seen.join());
  await eventually(() => assert.equal(seen.at(-1), 'Unknown'));
  ending.abort();
  await Promise.allSettled([watching, following]);
  t.diagnostic(`${jumps.length} jumps, ${before} looks at a node, ${judged.length} tokens judged`);
});

/** Tells when somebody begins to wait for so long, or not much less. */
class WatchedClock extends SetClock {
  readonly #waits: { readonly ms: number; readonly begun: () => void }[] = [];
  waitOf(seconds: number): Promise<void> {
    return new Promise((begun) => this.#waits.push({ ms: seconds * 1000, begun }));
  }
  override timer(ms: number, run: () => void): () => void {
    for (const wait of this.#waits) if (ms <= wait.ms && ms > wait.ms / 2) wait.begun();
    return super.timer(ms, run);
  }
}

test('pods leave a node with taints after as long as they tolerate them, whatever the clock says meanwhile', async (t) => {
  const clock = new WatchedClock();
  const server = await startAll(t, clock);
  const client = server.controlPlane.clientFor(administrator);
  await eventually(() => client.get(serviceaccounts, { name: 'default', namespace: 'default' }));
  // Written where it is tomorrow already.
  const timeAdded = rfc3339(clock.now() + 24 * hour);
  await client.create(nodes, {
    metadata: { name: 'tainted' },
    spec: { taints: [{ key: 'k', effect: 'NoExecute', timeAdded }] },
  } as never);
  const begun = Promise.all([clock.waitOf(4), clock.waitOf(4000)]);
  const tolerating = (tolerationSeconds: number) =>
    client.create(pods, {
      metadata: { name: `for-${tolerationSeconds}`, namespace: 'default' },
      spec: {
        nodeName: 'tainted',
        containers: [{ name: 'c', image: 'i' }],
        tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
      },
    } as never);
  for (const seconds of [4, 4000]) await tolerating(seconds);
  await begun;
  const look = (name: string) =>
    client.patch(
      pods,
      { name, namespace: 'default' },
      { type: 'merge', body: { metadata: { labels: { at: `h${Math.abs(clock.shift / hour)}` } } } },
    );
  clock.shift = -24 * hour;
  await look('for-4');
  const marked = async (name: string): Promise<boolean> =>
    (await client.get(pods, { name, namespace: 'default' })).metadata?.deletionTimestamp !== undefined;
  await eventually(async () => assert.ok(await marked('for-4')));
  clock.shift = 24 * hour;
  await look('for-4000');
  // It is looked at before one that comes behind it and has a second.
  await tolerating(1);
  await eventually(async () => assert.ok(await marked('for-1')));
  assert.equal(await marked('for-4000'), false);
});
