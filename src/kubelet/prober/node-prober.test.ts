// When probes run, and what their results are worth.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Pod, Probe } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { probeMetrics } from '../metrics/probe-metrics.ts';
import { nothingObserved, type ObservedContainer } from '../observed-pod.ts';
import { createCommands } from '../runtime/commands.ts';
import { createNodeProber } from './node-prober.ts';

const day = 24 * 3600_000;

/** A container with this probe that has run for `ranMs`; its command answers `exitCode`. */
function probed(t: TestContext, probe: Probe, ranMs = 0, kind = 'readinessProbe') {
  const clock = new FakeClock();
  const seen = { runs: 0, exitCode: 0 };
  const metrics = createMetrics();
  const prober = createNodeProber({
    commands: createCommands({
      clock,
      runtime: {
        execSync: async () => {
          seen.runs++;
          return { exitCode: seen.exitCode, stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        },
      },
    }),
    clock,
    random: { uint: () => 0 } as never,
    metrics: probeMetrics(metrics),
    changed: () => undefined,
    event: () => undefined,
  });
  t.after(() => prober.stop());
  const whole: Probe = { exec: { command: ['true'] }, periodSeconds: 1, ...probe };
  const pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: [{ name: 'c', image: 'i', [kind]: whole }] },
  } as Pod;
  const observed = { id: 'id', name: 'c', state: 'running', startedAtMs: clock.now() - ranMs };
  prober.update(pod, { ...nothingObserved, containers: [observed as ObservedContainer] }, '10.0.0.1');
  /** A second, and what a probe does in it. */
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
  };
  return { clock, prober, seen, metrics, pass, pod };
}

test('probes go on whatever day it is set to be', async (t) => {
  const { clock, prober, seen, pass } = probed(t, { failureThreshold: 1 });
  await pass(3);
  assert.equal(prober.readiness('id'), true);
  const before = seen.runs;
  clock.setBy(-day);
  seen.exitCode = 1;
  await pass(5);
  assert.equal(seen.runs, before + 5);
  assert.equal(prober.readiness('id'), false);
  clock.setBy(2 * day);
  seen.exitCode = 0;
  await pass(2);
  assert.equal(prober.readiness('id'), true);
});

test('the first delay counts from the start of the container, also for an agent that came later', async (t) => {
  const young = probed(t, { initialDelaySeconds: 10 });
  await young.pass(9);
  assert.equal(young.seen.runs, 0);
  young.clock.setBy(-day);
  await young.pass(3);
  assert.ok(young.seen.runs > 0);
  const found = probed(t, { periodSeconds: 2 }, 60_000);
  await found.pass(3);
  assert.ok(found.seen.runs > 0);
});

test('a probe of a month is one of a month', async (t) => {
  const { seen, pass } = probed(t, { periodSeconds: 3_000_000, timeoutSeconds: 2_147_483 });
  await pass(5);
  assert.equal(seen.runs, 1);
});

test('a probe that waits for its answer ends with its container', async (t) => {
  const asked = Promise.withResolvers<Socket>();
  const server = createServer((socket) => asked.resolve(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const get = { httpGet: { host: '127.0.0.1', port }, exec: undefined as never };
  const { prober } = probed(t, { ...get, timeoutSeconds: 100_000 });
  const socket = (await asked.promise).resume();
  prober.remove('u');
  await once(socket, 'close');
});

test('what probes answered is counted by result, and forgotten with the pod', async (t) => {
  const { prober, seen, metrics, pass } = probed(t, { failureThreshold: 1 });
  await pass(3);
  seen.exitCode = 1;
  await pass(2);
  const labels = 'container="c",pod="p",namespace="n"';
  const { text } = await metrics.text();
  const of = (result: string): string | undefined =>
    new RegExp(
      `^prober_probe_total\\{probe_type="Readiness",result="${result}",${labels},pod_uid="u"\\} (\\d+)$`,
      'm',
    ).exec(text)?.[1];
  assert.deepEqual([of('successful'), of('failed'), of('unknown')], [String(seen.runs - 2), '2', undefined]);
  assert.ok(
    text.includes(`prober_probe_duration_seconds_count{probe_type="Readiness",${labels}} ${seen.runs}`),
  );
  prober.remove('u');
  assert.doesNotMatch((await metrics.text()).text, /pod="p"/);
});

test('nothing is kept of what probes of a pod said that has ended, or of a container that is gone', async (t) => {
  for (const kind of ['startup', 'liveness', 'readiness'] as const) {
    const ended = probed(t, {}, 0, `${kind}Probe`);
    await ended.pass(2);
    assert.equal(ended.prober[kind]('id'), true);
    ended.prober.stopLiveness('u');
    assert.equal(ended.prober[kind]('id'), true, 'until nothing of it runs');
    ended.prober.remove('other');
    assert.equal(ended.prober[kind]('id'), true);
    ended.prober.remove('u');
    assert.equal(ended.prober[kind]('id'), undefined, kind);
    const replaced = probed(t, {}, 0, `${kind}Probe`);
    await replaced.pass(2);
    replaced.prober.update(replaced.pod, nothingObserved, '10.0.0.1');
    assert.equal(replaced.prober[kind]('id'), undefined, kind);
  }
});
