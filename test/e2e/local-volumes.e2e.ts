// Claims of the default class on a node: a folder of its own for each, for whatever user its pods have.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestCluster } from '../harness/cluster.ts';
import { limit, listManifest, podSpec, startLinuxCluster, untilTerm } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await startLinuxCluster();
}, limit);
after(() => cluster?.down(), limit);

test(
  'a claim is bound where its pod goes; a user that is not root writes, and another pod reads by subPath',
  limit,
  async () => {
    const { kubectl } = cluster;
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    };
    const pod = (name: string, mount: object, securityContext: object): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: podSpec(
        { command: untilTerm, volumeMounts: [{ name: 'v', mountPath: '/data', ...mount }], securityContext },
        { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
      ),
    });
    await kubectl.apply(listManifest(claim, pod('writer', {}, { runAsUser: 1000 })));
    await kubectl.ok(['wait', '--for=condition=Ready', 'pod/writer', '--timeout=60s']);
    await kubectl.ok(['exec', 'writer', '--', 'sh', '-c', 'mkdir /data/in && echo kept > /data/in/file']);
    await kubectl.ok(['delete', 'pod', 'writer', '--timeout=60s']);
    await kubectl.apply(listManifest(pod('reader', { subPath: 'in', readOnly: true }, {})));
    await kubectl.ok(['wait', '--for=condition=Ready', 'pod/reader', '--timeout=60s']);
    assert.equal(await kubectl.ok(['exec', 'reader', '--', 'cat', '/data/file']), 'kept\n');
    const refused = await kubectl.run(['exec', 'reader', '--', 'touch', '/data/x']);
    assert.match(refused.stderr, /Read-only file system/);
    assert.equal(
      (await kubectl.json<{ status: { phase: string } }>(['get', 'pvc', 'data'])).status.phase,
      'Bound',
    );
  },
);
