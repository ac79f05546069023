// A pod that makes folders deeper than any path can say: neither its end nor the cluster's is held up by them.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { limit, listManifest, podSpec, startLinuxCluster } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let isDown = false;
before(async () => {
  cluster = await startLinuxCluster();
}, limit);
after(async () => {
  if (isDown) rmSync(cluster.home, { recursive: true });
  else await cluster?.down();
}, limit);

/** 60 folders with names of 200 characters, each moved into a new one: 12,000 characters. */
const deep = (folder: string): string =>
  `cd ${folder}; n=$(printf %200s | tr ' ' d); mkdir deep; i=0;
   while [ $i -lt 60 ]; do mkdir next; mv deep next/$n; mv next deep; i=$((i+1)); done`;

test('pods with bottomless folders go, and so does their cluster', { timeout: 180_000 }, async () => {
  const command = [
    'sh',
    '-c',
    `(${deep('/v')}) && (${deep('/tmp')}) && touch /ready; trap "exit 0" TERM; sleep 600 & wait`,
  ];
  const pod = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: podSpec(
      {
        command,
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
        readinessProbe: { exec: { command: ['test', '-e', '/ready'] }, periodSeconds: 1 },
      },
      { volumes: [{ name: 'v', emptyDir: {} }] },
    ),
  });
  const { kubectl } = cluster;
  await kubectl.apply(listManifest(pod('goes'), pod('stays')));
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=90s']);
  const uidOf = (name: string): Promise<string> =>
    kubectl.ok(['get', 'pod', name, '-o', 'jsonpath={.metadata.uid}']);
  const uids = [await uidOf('goes'), await uidOf('stays')].sort();
  const folders = join(cluster.home, 'clusters', cluster.name, 'nodes/linux-1/kubelet/pods');
  assert.deepEqual(readdirSync(folders).sort(), uids);
  const gone = await uidOf('goes');
  await kubectl.ok(['delete', 'pod', 'goes', '--timeout=60s']);
  await eventually(() =>
    assert.deepEqual(
      readdirSync(folders),
      uids.filter((uid) => uid !== gone),
    ),
  );
  const down = await cluster.porthole(['down', '--name', cluster.name]);
  isDown = true;
  assert.equal(down.code, 0, down.stderr);
  assert.equal(existsSync(join(cluster.home, 'clusters', cluster.name)), false);
});
