// Workloads as kubectl drives them: rollouts and their history, StatefulSet, DaemonSet, Job, CronJob, ownership, drain.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  busybox,
  limit,
  podManifest,
  podSpec,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  // early: the minute that it takes passes while other tests run
  const every = '--schedule=* * * * *';
  await kubectl.ok(['create', 'cronjob', 'tick', `--image=${busybox}`, every, '--', 'echo', 'tick']);
}, limit);
after(() => cluster?.down(), limit);

const workload = (kind: string, name: string, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec({ command: untilTerm }) },
      ...spec,
    },
  });
const rolledOut = (what: string): Promise<string> => kubectl.ok(['rollout', 'status', what, '--timeout=60s']);
const field = (what: string, path: string): Promise<string> =>
  kubectl.ok(['get', ...what.split(' '), '-o', `jsonpath={${path}}`]);
const podsOf = async (app: string): Promise<string[]> =>
  (await kubectl.ok(['get', 'pods', '-l', `app=${app}`, '-o', 'name'])).split('\n').filter(Boolean).sort();
const noPodsOf = (app: string): Promise<void> =>
  eventually(async () => assert.deepEqual(await podsOf(app), []));

describe('a Deployment', () => {
  before(async () => {
    await kubectl.apply(workload('Deployment', 'web', { replicas: 2 }));
    await rolledOut('deployment/web');
  }, limit);
  const version = '.spec.template.spec.containers[0].env[0].value';

  test('rolls out, scales and rolls back', limit, async () => {
    await kubectl.ok(['set', 'env', 'deployment/web', 'VERSION=2']);
    await kubectl.ok(['annotate', 'deployment/web', 'kubernetes.io/change-cause=second']);
    assert.match(await rolledOut('deployment/web'), /deployment "web" successfully rolled out/);
    await kubectl.ok(['scale', 'deployment/web', '--replicas=3', '--current-replicas=2']);
    assert.match(
      (await kubectl.run(['scale', 'deployment/web', '--replicas=4', '--current-replicas=2'])).stderr,
      /Expected replicas to be 2, was 3/,
    );
    await rolledOut('deployment/web');
    assert.equal(await field('deployment web', `.status.readyReplicas`), '3');
    assert.match(await kubectl.ok(['rollout', 'history', 'deployment/web']), /^1\s+<none>\n2\s+second\n/m);
    assert.match(await kubectl.ok(['rollout', 'history', 'deployment/web', '--revision=2']), /VERSION:\s+2/);
    await kubectl.ok(['rollout', 'undo', 'deployment/web']);
    await rolledOut('deployment/web');
    assert.equal(await field('deployment web', version), '');
    await kubectl.ok(['rollout', 'undo', 'deployment/web', '--to-revision=2']);
    await rolledOut('deployment/web');
    assert.equal(await field('deployment web', version), '2');
    assert.match(
      (await kubectl.run(['rollout', 'undo', 'deployment/web', '--to-revision=77'])).stderr,
      /unable to find specified revision 77 in history/,
    );
    const sets = await kubectl.ok(['get', 'rs', '-l', 'app=web', '-o', 'name']);
    assert.equal(sets.trim().split('\n').length, 2);
  });

  test('waits while it is paused', limit, async () => {
    await kubectl.ok(['rollout', 'pause', 'deployment/web']);
    const before = await podsOf('web');
    await kubectl.ok(['set', 'env', 'deployment/web', 'VERSION=3']);
    assert.match((await kubectl.run(['rollout', 'undo', 'deployment/web'])).stderr, /paused deployment/);
    await kubectl.ok([
      'wait',
      'deployment/web',
      '--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=DeploymentPaused',
      '--timeout=10s',
    ]);
    assert.deepEqual(await podsOf('web'), before);
    await kubectl.ok(['rollout', 'resume', 'deployment/web']);
    await rolledOut('deployment/web');
    await eventually(async () =>
      assert.equal((await podsOf('web')).filter((name) => before.includes(name)).length, 0),
    );
  });

  test('that can not come up says so, and keeps the pods that serve', limit, async () => {
    await kubectl.ok(['patch', 'deployment', 'web', '-p', '{"spec":{"progressDeadlineSeconds":2}}']);
    await kubectl.ok(['set', 'image', 'deployment/web', 'main=porthole.local/sample/nothing:1']);
    const { code, stderr } = await kubectl.run(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    assert.equal(code, 1);
    assert.match(stderr, /deployment "web" exceeded its progress deadline/);
    assert.equal(await field('deployment web', '.status.readyReplicas'), '3');
    await kubectl.ok(['rollout', 'undo', 'deployment/web']);
    await rolledOut('deployment/web');
  });

  test('leaves its pods when it is told to, takes them over again, and goes after them', limit, async () => {
    await kubectl.ok(['delete', 'deployment', 'web', '--cascade=orphan']);
    const set = (
      await kubectl.ok([
        'get',
        'rs',
        '-l',
        'app=web',
        '-o',
        'jsonpath={.items[?(@.spec.replicas==3)].metadata.name}',
      ])
    ).trim();
    await eventually(async () => assert.equal((await podsOf('web')).length, 3));
    await eventually(async () => assert.equal(await field(`rs ${set}`, '.metadata.ownerReferences'), ''));
    const pods = await podsOf('web');
    // the same template again: the ReplicaSet and its pods are adopted as they are
    const manifest = JSON.parse(workload('Deployment', 'web', { replicas: 3 })) as {
      spec: { template: object };
    };
    manifest.spec.template = (
      await kubectl.json<{ spec: { template: { metadata: { labels: object }; spec: object } } }>([
        'get',
        'rs',
        set,
      ])
    ).spec.template;
    Object.assign(manifest.spec.template, { metadata: { labels: { app: 'web' } } });
    await kubectl.apply(JSON.stringify(manifest));
    await rolledOut('deployment/web');
    await eventually(async () =>
      assert.match(await field(`rs ${set}`, '.metadata.ownerReferences'), /"web"/),
    );
    assert.deepEqual(await podsOf('web'), pods);
    await kubectl.ok(['delete', 'deployment', 'web', '--cascade=foreground', '--timeout=60s']);
    assert.deepEqual(await podsOf('web'), []);
    assert.equal(await kubectl.ok(['get', 'rs', '-l', 'app=web', '-o', 'name']), '');
  });
});

describe('other workloads', () => {
  test('a StatefulSet has named pods in order, and updates them from the last', limit, async () => {
    await kubectl.apply(workload('StatefulSet', 'db', { replicas: 2, serviceName: 'db' }));
    await rolledOut('statefulset/db');
    assert.deepEqual(await podsOf('db'), ['pod/db-0', 'pod/db-1']);
    await kubectl.ok(['scale', 'statefulset/db', '--replicas=3']);
    await rolledOut('statefulset/db');
    const uid = await field('pod db-2', '.metadata.uid');
    await kubectl.ok(['delete', 'pod', 'db-2', '--timeout=60s']);
    await rolledOut('statefulset/db');
    await eventually(async () => assert.notEqual(await field('pod db-2', '.metadata.uid'), uid));
    await kubectl.ok(['set', 'env', 'statefulset/db', 'VERSION=2']);
    await rolledOut('statefulset/db');
    assert.equal(await field('pods -l app=db', '.items[*].spec.containers[0].env[0].value'), '2 2 2');
    assert.match(await kubectl.ok(['rollout', 'history', 'statefulset/db']), /^1 .*\n2 /m);
    await kubectl.ok(['delete', 'statefulset', 'db']);
    await noPodsOf('db');
  });

  test('a StatefulSet mounts its claims, and a new pod finds what the old one wrote', limit, async () => {
    const template = podSpec({ command: untilTerm }) as { containers: object[] };
    const containers = template.containers.map((container) => ({
      ...container,
      volumeMounts: [{ name: 'store', mountPath: '/data' }],
    }));
    const claim = {
      metadata: { name: 'store' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
    };
    await kubectl.apply(
      workload('StatefulSet', 'kept', {
        replicas: 1,
        serviceName: 'kept',
        template: { metadata: { labels: { app: 'kept' } }, spec: { ...template, containers } },
        volumeClaimTemplates: [claim],
      }),
    );
    await rolledOut('statefulset/kept');
    await kubectl.ok(['exec', 'kept-0', '--', 'sh', '-c', 'echo here > /data/file']);
    await kubectl.ok(['delete', 'pod', 'kept-0', '--timeout=60s']);
    await rolledOut('statefulset/kept');
    assert.equal(await kubectl.ok(['exec', 'kept-0', '--', 'cat', '/data/file']), 'here\n');
    await kubectl.ok(['delete', 'statefulset', 'kept']);
    await noPodsOf('kept');
    await kubectl.ok(['delete', 'pvc', 'store-kept-0']);
  });

  test('a DaemonSet has a pod on each node, and rolls back', limit, async () => {
    await kubectl.apply(workload('DaemonSet', 'daemon'));
    await rolledOut('daemonset/daemon');
    await kubectl.ok(['set', 'env', 'daemonset/daemon', 'VERSION=2']);
    await rolledOut('daemonset/daemon');
    await kubectl.ok(['rollout', 'undo', 'daemonset/daemon']);
    await rolledOut('daemonset/daemon');
    assert.equal(await field('daemonset daemon', '.spec.template.spec.containers[0].env'), '');
    await kubectl.ok(['delete', 'daemonset', 'daemon']);
    await noPodsOf('daemon');
  });

  test('a Job runs to completion', limit, async () => {
    await kubectl.ok(['create', 'job', 'sums', `--image=${busybox}`, '--', 'sh', '-c', 'echo $((6*7))']);
    await kubectl.ok(['wait', '--for=condition=complete', 'job/sums', '--timeout=60s']);
    assert.equal(await kubectl.ok(['logs', 'job/sums']), '42\n');
    assert.match(await kubectl.ok(['get', 'job', 'sums']), /sums\s+Complete\s+1\/1/);
  });

  test('a Job that fails gives up after its limit', limit, async () => {
    const spec = {
      backoffLimit: 1,
      template: { spec: podSpec({ command: ['false'] }, { restartPolicy: 'Never' }) },
    };
    await kubectl.apply(
      JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'fails' }, spec }),
    );
    await kubectl.ok(['wait', '--for=condition=failed', 'job/fails', '--timeout=80s']);
    assert.equal(await field('job fails', '.status.failed'), '2');
  });
});

describe('a node', () => {
  test('is cordoned and drained, and takes pods again', limit, async () => {
    await kubectl.apply(workload('Deployment', 'kept', { replicas: 2 }));
    await kubectl.apply(workload('DaemonSet', 'agent'));
    await kubectl.apply(podManifest('single', { command: untilTerm }));
    await rolledOut('deployment/kept');
    await rolledOut('daemonset/agent');

    await kubectl.ok(['cordon', 'linux-1']);
    assert.match(await kubectl.ok(['get', 'nodes']), /Ready,SchedulingDisabled/);
    await kubectl.apply(podManifest('waits', { command: untilTerm }));
    await eventually(async () =>
      assert.match(
        await kubectl.ok([
          'get',
          'events',
          '--field-selector',
          'involvedObject.name=waits,reason=FailedScheduling',
        ]),
        /0\/1 nodes are available/,
      ),
    );
    const plain = await kubectl.run(['drain', 'linux-1']);
    assert.match(plain.stderr, /cannot delete DaemonSet-managed Pods .*: default\/agent-/);
    assert.match(plain.stderr, /cannot delete Pods that declare no controller .*: default\/single/);
    await kubectl.ok(['drain', 'linux-1', '--force', '--ignore-daemonsets', '--timeout=60s']);
    const left = await kubectl.ok([
      'get',
      'pods',
      '--field-selector=spec.nodeName=linux-1',
      '-l',
      'app in (kept,single,agent)',
      '-o',
      'name',
    ]);
    assert.match(left, /^pod\/agent-\w+\n$/);
    await kubectl.ok(['uncordon', 'linux-1']);
    await rolledOut('deployment/kept');
    await kubectl.ok(['wait', '--for=condition=Ready', 'pod/waits', '--timeout=30s']);
  });
});

describe('a CronJob', () => {
  test('makes Jobs at its time, or when it is asked', limit, async () => {
    await kubectl.ok(['create', 'job', '--from=cronjob/tick', 'now']);
    await kubectl.ok(['wait', '--for=condition=complete', 'job/now', '--timeout=30s']);
    assert.equal(await kubectl.ok(['logs', 'job/now']), 'tick\n');
    const scheduled = (): Promise<string> => kubectl.ok(['get', 'jobs', '-o', 'name']);
    await eventually(async () => assert.match(await scheduled(), /job.batch\/tick-\d+\n/), {
      timeoutMs: 65_000,
      everyMs: 500,
    });
    assert.notEqual(await field('cronjob tick', '.status.lastScheduleTime'), '');
    await kubectl.ok(['delete', 'cronjob', 'tick']);
    await eventually(async () => assert.doesNotMatch(await scheduled(), /tick-/));
  });
});
