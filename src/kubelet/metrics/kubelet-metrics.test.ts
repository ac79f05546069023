// What is counted of requests, images, volumes and control groups, by upstream's names.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { Cgroups } from '../../os/cgroups.ts';
import { type HttpRequest, type HttpResponse, isPullBody, type PullBody } from '../../wire/http-message.ts';
import { aPod } from '../testing/observed-builder.ts';
import { PullDurations } from './pull-durations.ts';
import { countedRequests } from './request-metrics.ts';
import { timedCgroups } from './timed-cgroups.ts';
import { volumeMetrics } from './volume-metrics.ts';

async function tells(metrics: MetricsRegistry, lines: readonly string[]): Promise<void> {
  const { text } = await metrics.text();
  for (const line of lines) assert.ok(text.split('\n').includes(line), `${line} in\n${text}`);
}

test('requests are counted by what is asked for; what is unknown, or as long as somebody likes, is other', async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const answer = Promise.withResolvers<HttpResponse>();
  const handle = countedRequests(metrics, clock, ({ url }) =>
    url.startsWith('/pods') ? Promise.reject(new Error('no')) : answer.promise,
  );
  const ask = (method: string, url: string): Promise<HttpResponse> => handle({ method, url } as HttpRequest);
  const asked = [ask('GET', '/metrics/cadvisor?x=/pods'), ask('GET', '/exec/n/p/c'), ask('BREW', '/a/b')];
  await assert.rejects(ask('GET', '/pods'), { message: 'no' });
  const labels = (method: string, path: string, long = 'false'): string =>
    `method="${method}",path="${path}",server_type="readwrite",long_running="${long}"`;
  await tells(metrics, [
    `kubelet_http_requests_total{${labels('GET', 'metrics/cadvisor')}} 1`,
    `kubelet_http_requests_total{${labels('GET', 'exec', 'true')}} 1`,
    `kubelet_http_requests_total{${labels('other', 'other')}} 1`,
    `kubelet_http_inflight_requests{${labels('GET', 'exec', 'true')}} 1`,
    `kubelet_http_inflight_requests{${labels('GET', 'pods')}} 0`,
    `kubelet_http_requests_duration_seconds_count{${labels('GET', 'pods')}} 1`,
  ]);
  clock.advance(3000);
  answer.resolve({ status: 200, headers: {}, body: Buffer.alloc(0) });
  await Promise.all(asked);
  await tells(metrics, [
    `kubelet_http_inflight_requests{${labels('GET', 'exec', 'true')}} 0`,
    `kubelet_http_requests_duration_seconds_sum{${labels('GET', 'exec', 'true')}} 3`,
  ]);
});

test('a session is in flight until its connection is closed, what is followed until nobody reads it any more', async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const body: PullBody = { pull: () => undefined, onReady: () => undefined, close: () => undefined };
  const handle = countedRequests(metrics, clock, async ({ upgrade }) =>
    upgrade
      ? { status: 101, headers: {}, body: undefined, hijacked: true }
      : { status: 200, headers: {}, body },
  );
  const socket = new PassThrough();
  const ask = (url: string, more: object = {}): Promise<HttpResponse> =>
    handle({ method: 'GET', url, ...more } as HttpRequest);
  const upgrade = { socket, head: Buffer.alloc(0) };
  for (const url of ['/exec/n/p/c', '/portForward/n/p', '/metrics/%63advisor']) await ask(url, { upgrade });
  const logs = await ask('/containerLogs/n/p/c?follow=true');
  const inFlight = (path: string, long: string): string =>
    `kubelet_http_inflight_requests{method="GET",path="${path}",server_type="readwrite",long_running="${long}"}`;
  const all = [
    inFlight('exec', 'true'),
    // As upstream, whose list of what runs long has another name for it.
    inFlight('portForward', 'false'),
    inFlight('metrics/cadvisor', 'false'),
    inFlight('containerLogs', 'false'),
  ];
  await tells(
    metrics,
    all.map((line) => `${line} 1`),
  );
  clock.advance(3000);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  assert.ok(isPullBody(logs.body));
  logs.body.close();
  await tells(metrics, [
    ...all.map((line) => `${line} 0`),
    'kubelet_http_requests_duration_seconds_sum{method="GET",path="exec",server_type="readwrite",long_running="true"} 3',
  ]);
});

test('pulls are told apart by the size of the image', async () => {
  const metrics = createMetrics();
  const durations = new PullDurations(metrics);
  const bounds = [10 * 2 ** 20, 2 ** 30, 100 * 2 ** 30];
  const sizes = [0, 1, ...bounds, ...bounds.map((size) => size + 1)];
  for (const size of sizes) durations.pulled(size, 2000);
  durations.pulled(1, 400_000);
  const count = (size: string): string =>
    `kubelet_image_pull_duration_seconds_count{image_size_in_bytes="${size}"}`;
  await tells(metrics, [
    `${count('N/A')} 1`,
    `${count('0-10MB')} 3`,
    `${count('10MB-100MB')} 1`,
    `${count('500MB-1GB')} 1`,
    `${count('1GB-5GB')} 1`,
    `${count('60GB-100GB')} 1`,
    `${count('GT100GB')} 1`,
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="0-10MB"} 404',
    ...[360, 480].map(
      (le, i) =>
        `kubelet_image_pull_duration_seconds_bucket{le="${le}",image_size_in_bytes="0-10MB"} ${2 + i}`,
    ),
  ]);
});

test('volumes are counted as they are wanted and as they are, and how long they took by how that ended', async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const pod: Pod = aPod({
    volumes: [
      { name: 'a', emptyDir: {} },
      { name: 'b', secret: {} },
    ],
  });
  const wanted = [pod];
  const volumes = volumeMetrics(metrics, clock, () => wanted);
  const setUp = (): Promise<string> =>
    volumes.setUp(pod, 'a', 'kubernetes.io/empty-dir', async () => {
      clock.advance(1500);
      return 'done';
    });
  assert.equal(await setUp(), 'done');
  await setUp();
  const failing = volumes.setUp(pod, 'b', 'kubernetes.io/secret', () => Promise.reject(new Error('no')));
  await assert.rejects(failing, { message: 'no' });
  const total = (name: string, state: string): string =>
    `volume_manager_total_volumes{plugin_name="kubernetes.io/${name}",state="${state}_state_of_world"}`;
  const took = (name: string, status: string): string =>
    `{volume_plugin="kubernetes.io/${name}",operation_name="volume_mount",status="${status}",migrated="false"}`;
  await tells(metrics, [
    `${total('empty-dir', 'desired')} 1`,
    `${total('secret', 'desired')} 1`,
    `${total('empty-dir', 'actual')} 1`,
    `storage_operation_duration_seconds_sum${took('empty-dir', 'success')} 3`,
    `storage_operation_duration_seconds_count${took('secret', 'fail-unknown')} 1`,
  ]);
  assert.ok(!(await metrics.text()).text.includes(total('secret', 'actual')));
  wanted.length = 0;
  await tells(metrics, [`${total('empty-dir', 'actual')} 1`]);
  volumes.tornDown(pod);
  assert.doesNotMatch((await metrics.text()).text, /^volume_manager_total_volumes\{/m);
});

test('what is done to control groups is timed, also when it fails', async () => {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const real: Partial<Cgroups> = {
    version: 2,
    ensure: async () => clock.advance(2000),
    remove: () => Promise.reject(new Error('busy')),
  };
  const cgroups = timedCgroups(real as Cgroups, metrics, clock);
  assert.equal(cgroups.version, 2);
  await cgroups.ensure('/kubepods', {});
  await assert.rejects(cgroups.remove('/kubepods'), { message: 'busy' });
  await tells(metrics, [
    'kubelet_cgroup_manager_duration_seconds_sum{operation_type="create"} 2',
    'kubelet_cgroup_manager_duration_seconds_count{operation_type="destroy"} 1',
  ]);
});
