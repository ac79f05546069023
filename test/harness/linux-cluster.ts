// A cluster of one Linux node with the busybox image on it, and the pods that its tests make.
import assert from 'node:assert/strict';
import { startTestCluster, type TestCluster } from './cluster.ts';

export const busybox = 'porthole.local/sample/busybox:1';

/** Of one test: whatever hangs, the tests after it run. */
export const limit: { readonly timeout: number } = { timeout: 90_000 };

/** `more`: of `up`. */
export async function startLinuxCluster(more: readonly string[] = []): Promise<TestCluster> {
  const cluster = await startTestCluster({ linux: 1, windows: 0, arguments: more });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  return cluster;
}

/** Runs until it is told to end, and then ends at once: process 1 of a container ignores signals that it doesn't handle. */
export const untilTerm: readonly string[] = [
  'sh',
  '-c',
  'trap "exit 0" TERM; while true; do sleep 600 & wait $!; done',
];

/** Serves `body` over HTTP, and ends at once when told. */
export const serve = (body: string, port = 8080): readonly string[] => [
  'sh',
  '-c',
  `mkdir -p /www; echo "${body}" > /www/index.html; trap "exit 0" TERM; httpd -f -p ${port} -h /www & wait`,
];

export const podSpec = (container: object, spec: object = {}): object => ({
  terminationGracePeriodSeconds: 1,
  containers: [{ name: 'main', image: busybox, ...container }],
  ...spec,
});

export const podManifest = (name: string, container: object, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: podSpec(container, spec),
  });

export const listManifest = (...items: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
