// The public door for tests: a cluster of two systems inside a test.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nodes, pods } from '../../src/exports/api.ts';
import { startCluster } from '../../src/exports/testing.ts';

test('a test gets a whole cluster: pods are placed on the node that they ask for, and run', {
  timeout: 30_000,
}, async () => {
  const cluster = await startCluster({
    nodes: [
      { name: 'l', os: 'linux' },
      { name: 'w', os: 'windows', windowsBuild: 26100 },
    ],
  });
  try {
    const hostProcess = {
      hostNetwork: true,
      securityContext: { windowsOptions: { hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM' } },
    };
    for (const [name, os, spec] of [
      ['linux', 'linux', {}],
      ['windows', 'windows', {}],
      ['proxy', 'windows', hostProcess],
    ] as const) {
      await cluster.client.create(pods, {
        metadata: { name, namespace: 'default' },
        spec: {
          nodeSelector: { 'kubernetes.io/os': os },
          containers: [{ name: 'main', image: 'any' }],
          ...spec,
        },
      });
    }
    const placed = new Map<string, string>();
    while (placed.size < 3) {
      for (const pod of (await cluster.client.list(pods, { namespace: 'default' })).items) {
        if (pod.status?.phase === 'Running') placed.set(pod.metadata.name, pod.spec.nodeName ?? '');
      }
      await delay(20);
    }
    assert.deepEqual(Object.fromEntries(placed), { linux: 'l', windows: 'w', proxy: 'w' });
    const windows = await cluster.client.get(nodes, { name: 'w' });
    assert.equal(windows.metadata.labels?.['node.kubernetes.io/windows-build'], '10.0.26100');
    assert.equal(windows.metadata.labels?.['porthole.dev/simulated'], 'true');
  } finally {
    await cluster.stop();
  }
});

test("options for the caller's Node don't reach the cluster's", { timeout: 30_000 }, async () => {
  const before = process.env.NODE_OPTIONS;
  process.env.NODE_OPTIONS = '--require=/nonexistent.cjs';
  const starting = startCluster({ nodes: [] });
  if (before === undefined) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = before;
  await (await starting).stop();
});

test("Ctrl-C in the test's terminal leaves the cluster's end to the test, and nothing behind", {
  timeout: 30_000,
}, async () => {
  const main = fileURLToPath(new URL('../../src/cmd/test-cluster-main.ts', import.meta.url));
  const cluster = spawn(process.execPath, [main, '[]'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(cluster, 'exit');
  const [line] = (await once(cluster.stdout, 'data')) as [Buffer];
  const { kubeconfig } = JSON.parse(line.toString()) as { kubeconfig: string };
  cluster.kill('SIGINT');
  cluster.stdin.end();
  assert.deepEqual(await ended, [0, null]);
  assert.equal(existsSync(dirname(kubeconfig)), false);
});
