// From a pod's create to its container running, as a watcher sees it, on both kinds of nodes; the images are there.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pods } from '../src/api/generated/resources.ts';
import type { Pod } from '../src/api/generated/types/core-v1.ts';
import type { Client } from '../src/client/client.ts';
import { createClient } from '../src/client/create-client.ts';
import { loadKubeconfig } from '../src/client/kubeconfig.ts';
import { httpTransport } from '../src/client/transport-http.ts';
import { systemClock } from '../src/component-base/system-clock.ts';
import { startTestCluster } from '../test/harness/cluster.ts';
import { type Bench, type Measurement, quantile } from './bench.ts';
import { scratch } from './harness/servers.ts';

const starts = 15;

const kinds = {
  linux: { image: 'porthole.local/sample/busybox:1', command: ['sleep', '1000'] },
  windows: {
    image: 'porthole.local/sample/web-windows:ltsc2022',
    command: ['node', '-e', 'setTimeout(() => {}, 1e6)'],
  },
} as const;
type NodeKind = keyof typeof kinds;

/** `runc run` of the same busybox, to its end. */
function bareRunc(): number {
  const bundle = scratch();
  const bin = join(bundle, 'rootfs', 'bin');
  mkdirSync(bin, { recursive: true });
  copyFileSync('/bin/busybox', join(bin, 'busybox'));
  spawnSync('runc', ['spec'], { cwd: bundle });
  const file = join(bundle, 'config.json');
  const spec = JSON.parse(readFileSync(file, 'utf8')) as { process: { terminal: boolean; args: string[] } };
  spec.process.terminal = false;
  spec.process.args = ['/bin/busybox', 'true'];
  writeFileSync(file, JSON.stringify(spec));
  const took: number[] = [];
  for (let i = 0; i < starts; i++) {
    const from = performance.now();
    const { status, stderr } = spawnSync('runc', ['run', '--bundle', bundle, `floor-${i}`], {
      stdio: 'pipe',
    });
    took.push(performance.now() - from);
    if (status !== 0) throw new Error(`runc run: ${stderr}`);
  }
  rmSync(bundle, { recursive: true, force: true });
  return quantile(took, 0.5);
}

const isRunning = (pod: Pod): boolean => pod.status?.containerStatuses?.[0]?.state?.running !== undefined;

async function startOne(client: Client, kind: NodeKind, name: string): Promise<number> {
  const { image, command } = kinds[kind];
  const ending = new AbortController();
  const fieldSelector = `metadata.name=${name}`;
  const events = client.watch(pods, { namespace: 'default', fieldSelector, signal: ending.signal });
  const seen = (async (): Promise<number> => {
    for await (const event of events) {
      if (event.type === 'MODIFIED' && isRunning(event.object)) return performance.now();
    }
    throw new Error(`the watch of ${name} ended`);
  })();
  const from = performance.now();
  await client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 0,
      nodeSelector: { 'kubernetes.io/os': kind },
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image, command: [...command] }],
    },
  } as Pod);
  const took = (await seen) - from;
  ending.abort();
  await client.delete(pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 });
  return took;
}

async function run(): Promise<readonly Measurement[]> {
  const floor = { what: 'runc run', value: bareRunc() };
  const cluster = await startTestCluster({ name: 'bench', linux: 1, windows: 1 });
  const built = await cluster.porthole(['image', 'build-samples', '--name', 'bench'], { timeoutMs: 300_000 });
  if (built.code !== 0) throw new Error(`images: ${built.stderr}`);
  const { transport } = await loadKubeconfig(cluster.kubeconfig, async (path) => readFileSync(path));
  const http = httpTransport(systemClock, transport);
  const client = createClient(http);
  const rows: Measurement[] = [];
  try {
    for (const kind of ['linux', 'windows'] as const) {
      const took: number[] = [];
      await startOne(client, kind, `${kind}-first`);
      for (let i = 0; i < starts; i++) took.push(await startOne(client, kind, `${kind}-${i}`));
      const aim = { value: 400 };
      rows.push(
        { what: `pod on a ${kind} node, p50`, value: quantile(took, 0.5), unit: 'ms', floor, aim },
        { what: `pod on a ${kind} node, p90`, value: quantile(took, 0.9), unit: 'ms', floor },
      );
    }
  } finally {
    await http.close();
    await cluster.down();
  }
  return rows;
}

export const bench: Bench = {
  name: 'pod-start',
  question: 'how long does a pod take from its create to its container running?',
  needsBox: true,
  run,
};
