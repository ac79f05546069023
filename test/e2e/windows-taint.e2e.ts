// --windows-taint gives the Windows nodes of a cluster the taint that upstream recommends.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await startTestCluster({ linux: 1, windows: 1, runtime: 'simulated', windowsTaint: true });
});
after(() => cluster?.down());

const pod = (name: string, tolerations: object[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      tolerations,
      containers: [{ name: 'main', image: 'iis' }],
    },
  });

test('with --windows-taint the Windows node takes pods that tolerate it only, and the event says that a taint is why', async () => {
  const { kubectl } = cluster;
  const taints = (node: string): Promise<string> =>
    kubectl.ok([
      'get',
      'node',
      node,
      '-o',
      'jsonpath={range .spec.taints[?(@.key=="os")]}{.key}={.value}:{.effect}{end}',
    ]);
  assert.equal(await taints('windows-1'), 'os=windows:NoSchedule');
  assert.equal(await taints('linux-1'), '');
  await kubectl.apply(pod('untolerated', []));
  await kubectl.apply(pod('tolerated', [{ key: 'os', operator: 'Exists' }]));
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/tolerated', '--timeout=60s']);
  await eventually(async () =>
    assert.match(
      await kubectl.ok(['get', 'events', '--field-selector', 'involvedObject.name=untolerated']),
      /FailedScheduling.*untolerated taint\(s\)/,
    ),
  );
});
