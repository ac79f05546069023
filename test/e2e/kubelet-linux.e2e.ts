// The kubelet against real containerd and runc: lives of pods, volumes, probes, its server, an agent that restarts.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { configmaps, events, nodes, pods, secrets } from '../../src/api/generated/resources.ts';
import { eventually } from '../harness/eventually.ts';
import { readExposition, sampleOf } from '../harness/exposition.ts';
import { type KubeletNode, startKubeletNode } from '../harness/kubelet-node.ts';

let node: KubeletNode;
let image: string;
before(async () => {
  node = await startKubeletNode();
  image = node.image;
  await eventually(async () => {
    const { status } = await node.client.get(nodes, { name: 'node-1' });
    assert.equal(status?.conditions?.find((c) => c.type === 'Ready')?.status, 'True');
  });
});
after(() => node?.close());

const sh = (script: string, more: object = {}): object => ({
  name: 'main',
  image,
  command: ['/bin/sh', '-c', script],
  ...more,
});
const forever = 'trap "exit 0" TERM; while true; do sleep 0.1; done';
const messages = async (name: string): Promise<string[]> =>
  (await node.client.list(events)).items
    .filter((e) => e.involvedObject.name === name)
    .map((e) => `${e.reason}: ${e.message}`);

test('a pod runs with its variables, hosts file, ConfigMap, Secret and limits, and its log is served', async () => {
  await node.client.create(configmaps, { metadata: { name: 'cm', namespace: 'default' }, data: { a: '1' } });
  await node.client.create(secrets, {
    metadata: { name: 'sec', namespace: 'default' },
    data: { pw: Buffer.from('geheim').toString('base64') },
  });
  await node.create('all', {
    hostname: 'host-a',
    hostAliases: [{ ip: '1.2.3.4', hostnames: ['alias.example'] }],
    containers: [
      sh(
        `echo "$X|$CM|$LIMIT|$(hostname)|$(cat /cm/a)|$(cat /sec/pw)"; grep -c alias.example /etc/hosts; ${forever}`,
        {
          env: [
            { name: 'W', value: 'w' },
            { name: 'X', value: '$(W)-$$(W)-$(NONE)' },
            { name: 'CM', valueFrom: { configMapKeyRef: { name: 'cm', key: 'a' } } },
            { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
          ],
          resources: { limits: { cpu: '500m', memory: '64Mi' } },
          volumeMounts: [
            { name: 'cm', mountPath: '/cm' },
            { name: 'sec', mountPath: '/sec' },
            { name: 'mem', mountPath: '/mem', subPath: 'a/b' },
          ],
        },
      ),
    ],
    volumes: [
      { name: 'cm', configMap: { name: 'cm' } },
      { name: 'sec', secret: { secretName: 'sec', defaultMode: 0o400 } },
      { name: 'mem', emptyDir: { medium: 'Memory' } },
    ],
  });
  const pod = await node.until('all', 'is Ready', (p) =>
    p.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'),
  );
  assert.match(pod.status?.podIP ?? '', /^10\.244\.0\./);
  assert.equal(pod.status?.qosClass, 'Guaranteed');
  await eventually(async () => {
    const { status, text } = await node.request('/containerLogs/default/all/main');
    assert.equal(status, 200);
    assert.equal(text, 'w-$(W)-$(NONE)|1|64|host-a|1|geheim\n1\n');
  });
  assert.equal((await node.request('/containerLogs/default/all/main?tailLines=1')).text, '1\n');
  assert.equal((await node.request('/containerLogs/default/all/main?limitBytes=3')).text, 'w-$');
  assert.match(
    (await node.request('/containerLogs/default/all/main?tailLines=1&timestamps=true')).text,
    /^\d{4}-\d\d-\d\dT\S+Z 1\n$/,
  );
  await node.client.patch(
    configmaps,
    { name: 'cm', namespace: 'default' },
    { type: 'merge', body: { data: { a: '2' } } },
  );
  const file = join(
    node.directory,
    'kubelet/pods',
    pod.metadata.uid!,
    'volumes/kubernetes.io~configmap/cm/a',
  );
  await eventually(() => assert.equal(readFileSync(file, 'utf8'), '2'));
});

test('exec goes through the server to the container, with streams apart and its exit code', async () => {
  const query = 'command=/bin/sh&command=-c&command=echo+out;echo+err+>%262;exit+3&stdout=true&stderr=true';
  const channels = await node.exec(`/exec/default/all/main?${query}`);
  assert.equal(channels.get(1), 'out\n');
  assert.equal(channels.get(2), 'err\n');
  assert.match(channels.get(3) ?? '', /"reason":"NonZeroExitCode".*"message":"3"/);
});

test('the server serves nobody without a certificate, and nobody who has no right to nodes/proxy', async () => {
  for (const path of [
    '/pods',
    '/containerLogs/default/all/main',
    '/run/default/all/main?cmd=id',
    '/metrics',
    '/metrics/probes',
    '/metrics/resource',
    '/metrics/cadvisor',
  ]) {
    assert.equal((await node.request(path, '')).status, 401, path);
  }
  assert.equal((await node.request('/pods', 'kube-apiserver-kubelet-client')).status, 200);
  assert.equal((await node.request('/nothing')).status, 404);
  assert.equal((await node.request('/containerLogs/default/%2e%2e/main')).status, 404);
  assert.equal((await node.request('/containerLogs/default/all/main?tailLines=x')).status, 400);
  assert.equal((await node.request('/pods/%ff')).status, 400);
});

test('the server tells what the kubelet counts of itself', async () => {
  const { text } = await node.request('/metrics');
  assert.match(text, /^kubelet_running_pods [1-9]/m);
  assert.match(text, /^kubelet_runtime_operations_total\{operation_type="start_container"\} [1-9]/m);
  const plugin = 'plugin_name="kubernetes.io/configmap"';
  for (const line of [
    `volume_manager_total_volumes{${plugin},state="desired_state_of_world"} [1-9]`,
    `volume_manager_total_volumes{${plugin},state="actual_state_of_world"} [1-9]`,
    'storage_operation_duration_seconds_count{volume_plugin="kubernetes.io/secret",operation_name="volume_mount",status="success",migrated="false"} [1-9]',
    'kubelet_cgroup_manager_duration_seconds_count{operation_type="create"} [1-9]',
    'kubelet_http_requests_total{method="GET",path="containerLogs",server_type="readwrite",long_running="false"} [1-9]',
    'kubelet_http_requests_total{method="GET",path="exec",server_type="readwrite",long_running="true"} [1-9]',
    'kubelet_http_inflight_requests{method="GET",path="metrics",server_type="readwrite",long_running="false"} 1',
    'kubelet_certificate_manager_server_ttl_seconds [1-9]',
  ])
    assert.match(text, new RegExp(`^${line.replace(/[{}.]/g, '\\$&')}`, 'm'));
  assert.match((await node.request('/metrics/probes')).text, /^# TYPE prober_probe_total counter$/m);
  assert.equal((await node.request('/metrics/nothing')).status, 404);
  for (const part of ['', '/probes', '/resource', '/cadvisor'])
    readExposition((await node.request(`/metrics${part}`)).text);
});

test('statistics name the pod and its container', async () => {
  const summary = JSON.parse((await node.request('/stats/summary')).text);
  assert.ok(summary.pods.some((p: { podRef: { name: string } }) => p.podRef.name === 'all'));
  assert.match(
    (await node.request('/metrics/resource')).text,
    /container_memory_working_set_bytes\{container="main",namespace="default",pod="all"\} \d+/,
  );
  assert.match(
    (await node.request('/metrics/resource')).text,
    /^container_start_time_seconds\{container="main",namespace="default",pod="all"\} \d+(\.\d+)? \d+$/m,
  );
});

test('what containers, pods and the node take of processors, memory and network is told by the names of cAdvisor', async () => {
  const { text } = await node.request('/metrics/cadvisor');
  const pod = await node.get('all');
  const id = pod.status?.containerStatuses?.[0]?.containerID?.split('://')[1];
  /** The values of all rows that have these labels. */
  const values = (name: string, labels: Readonly<Record<string, string>>): number[] =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`))
      .filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)))
      .map((line) => Number(/\} (\S+) \d+$/.exec(line)?.[1]));
  const own = { namespace: 'default', pod: 'all', container: 'main' };
  const [cpu, ...others] = values('container_cpu_usage_seconds_total', { ...own, cpu: 'total', name: id! });
  assert.ok(cpu !== undefined && cpu > 0 && others.length === 0, text);
  assert.deepEqual(values('container_spec_memory_limit_bytes', own), [64 << 20]);
  assert.deepEqual(values('container_spec_cpu_quota', own), [50_000]);
  assert.ok(values('container_cpu_cfs_periods_total', own)[0]! > 0);
  const [used] = values('container_memory_usage_bytes', own);
  const [working] = values('container_memory_working_set_bytes', own);
  assert.ok(working! > 0 && working! <= used! && used! <= 64 << 20);
  // Its own and those of its containers.
  assert.equal(values('container_memory_rss', { namespace: 'default', pod: 'all' }).length, 3);
  assert.ok(values('container_processes', own)[0]! >= 1);
  const started = Date.parse(pod.status?.containerStatuses?.[0]?.state?.running?.startedAt ?? '') / 1000;
  assert.deepEqual(values('container_start_time_seconds', own), [started]);
  const network = { namespace: 'default', pod: 'all', container: '', interface: 'eth0' };
  for (const way of ['receive', 'transmit'])
    for (const what of ['bytes', 'packets', 'packets_dropped', 'errors'])
      assert.equal(values(`container_network_${way}_${what}_total`, network).length, 1, `${way} ${what}`);
  assert.deepEqual(values('machine_cpu_cores', {}), [availableParallelism()]);
  assert.match(text, /^container_scrape_error 0 \d+$/m);
});

test('an agent that restarts adopts what runs: same container, no restart', async () => {
  const before = (await node.get('all')).status?.containerStatuses?.[0];
  await node.restartAgent();
  await node.create('later', { containers: [sh(forever)] });
  await node.until('later', 'runs', (p) => p.status?.phase === 'Running');
  const now = (await node.get('all')).status?.containerStatuses?.[0];
  assert.equal(now?.containerID, before?.containerID);
  assert.equal(now?.restartCount, 0);
  await node.remove('later');
});

test('a failing container is restarted with back-off and shows its last words', async () => {
  await node.create('crash', {
    containers: [sh('echo boom; exit 3', { terminationMessagePolicy: 'FallbackToLogsOnError' })],
  });
  const pod = await node.until(
    'crash',
    'is in CrashLoopBackOff',
    (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
  );
  const status = pod.status!.containerStatuses![0]!;
  assert.equal(
    status.state?.waiting?.message,
    `back-off 10s restarting failed container=main pod=crash_default(${pod.metadata.uid})`,
  );
  assert.equal(status.lastState?.terminated?.exitCode, 3);
  assert.equal(status.lastState?.terminated?.message, 'boom\n');
  assert.equal(status.restartCount, 1);
  const previous = await node.request('/containerLogs/default/crash/main?previous=true');
  assert.equal(previous.text, 'boom\n');
  const summary = JSON.parse((await node.request('/stats/summary')).text);
  const told = summary.pods.find((p: { podRef: { name: string } }) => p.podRef.name === 'crash');
  assert.deepEqual(
    told.containers.map((c: { name: string }) => c.name),
    ['main'],
  );
  const families = readExposition((await node.request('/metrics/resource')).text);
  const labels = { container: 'main', namespace: 'default', pod: 'crash' };
  assert.ok((sampleOf(families, 'container_start_time_seconds', labels) ?? 0) > 1e9);
  await node.remove('crash');
});

test('init containers run in order before the rest, a sidecar beside it and ends last', async () => {
  const w = { volumeMounts: [{ name: 'w', mountPath: '/w' }] };
  await node.create('job', {
    restartPolicy: 'Never',
    initContainers: [
      { ...sh('echo -n one > /w/f', w), name: 'first' },
      { ...sh(forever), name: 'side', restartPolicy: 'Always' },
      { ...sh('echo -n two >> /w/f', w), name: 'second' },
    ],
    containers: [sh('cat /w/f > /dev/termination-log', w)],
    volumes: [{ name: 'w', emptyDir: {} }],
  });
  const pod = await node.until('job', 'succeeded', (p) => p.status?.phase === 'Succeeded');
  assert.equal(pod.status?.containerStatuses?.[0]?.state?.terminated?.message, 'onetwo');
  assert.deepEqual(
    pod.status?.initContainerStatuses?.map((s) => s.state?.terminated?.exitCode),
    [0, 0, 0],
  );
  await node.remove('job');
});

test('what can not start says why: image, configuration, user, mount', async () => {
  await node.create('noimage', {
    containers: [{ name: 'main', image: 'example.invalid/x:1', imagePullPolicy: 'Never' }],
  });
  await node.create('nocm', {
    containers: [sh('true', { envFrom: [{ configMapRef: { name: 'missing' } }] })],
  });
  await node.create('root', { securityContext: { runAsNonRoot: true }, containers: [sh('true')] });
  await node.create('mount', {
    containers: [sh('true', { volumeMounts: [{ name: 's', mountPath: '/s' }] })],
    volumes: [{ name: 's', secret: { secretName: 'missing' } }],
  });
  const waiting = async (name: string, reason: string): Promise<string> => {
    const pod = await node.until(
      name,
      reason,
      (p) => p.status?.containerStatuses?.[0]?.state?.waiting?.reason === reason,
    );
    return pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '';
  };
  assert.equal(
    await waiting('noimage', 'ErrImageNeverPull'),
    'Container image "example.invalid/x:1" is not present with pull policy of Never',
  );
  assert.equal(await waiting('nocm', 'CreateContainerConfigError'), 'configmap "missing" not found');
  assert.match(
    await waiting('root', 'CreateContainerConfigError'),
    /^container has runAsNonRoot and image will run as root \(pod: "root_default\(.*\)", container: main\)$/,
  );
  await eventually(async () =>
    assert.ok(
      (await messages('mount')).includes(
        'FailedMount: MountVolume.SetUp failed for volume "s" : secret "missing" not found',
      ),
    ),
  );
  // It goes on by itself once the object is there.
  await node.client.create(configmaps, { metadata: { name: 'missing', namespace: 'default' }, data: {} });
  await node.until('nocm', 'starts', (p) => (p.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  for (const name of ['noimage', 'nocm', 'root', 'mount']) await node.remove(name);
});

test('probes: a container that is not alive is restarted, one that is not ready is not Ready', async () => {
  await node.create('probed', {
    containers: [
      sh('touch /tmp/ok; httpd -p 8080 -h /tmp; while true; do sleep 0.1; done', {
        readinessProbe: { httpGet: { path: '/ok', port: 8080 }, periodSeconds: 1 },
        livenessProbe: {
          exec: { command: ['/bin/sh', '-c', 'test ! -e /tmp/dead'] },
          periodSeconds: 1,
          failureThreshold: 1,
        },
      }),
    ],
  });
  await node.until('probed', 'is ready', (p) => p.status?.containerStatuses?.[0]?.ready);
  await node.exec('/exec/default/probed/main?command=/bin/rm&command=/tmp/ok&stdout=true');
  await node.until('probed', 'is not ready', (p) => p.status?.containerStatuses?.[0]?.ready === false);
  await node.exec('/exec/default/probed/main?command=/bin/touch&command=/tmp/dead&stdout=true');
  await node.until('probed', 'was restarted', (p) => p.status?.containerStatuses?.[0]?.restartCount === 1);
  const said = await messages('probed');
  assert.ok(
    said.includes('Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 404'),
    said.join('\n'),
  );
  assert.ok(
    said.includes('Killing: Container main failed liveness probe, will be restarted'),
    said.join('\n'),
  );
  await node.remove('probed');
});

test('volumes: group of files, host path, fields of the pod, one file of a ConfigMap, read-only', async () => {
  const hostFolder = join(node.directory, 'host-folder');
  await node.client.create(configmaps, {
    metadata: { name: 'one', namespace: 'default' },
    data: { f: 'text' },
  });
  await node.create(
    'volumes',
    {
      restartPolicy: 'Never',
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
      containers: [
        sh(
          [
            'stat -c "%g" /e',
            'touch /e/mine && stat -c "%u:%g" /e/mine',
            'cat /fields/labels /fields/cpu; echo',
            'cat /one',
            '(echo x > /ro/f) 2>/dev/null || echo read-only',
            'cat /host/g',
            'id -G',
          ].join('; '),
          {
            resources: { limits: { cpu: '1500m' } },
            volumeMounts: [
              { name: 'e', mountPath: '/e' },
              { name: 'fields', mountPath: '/fields' },
              { name: 'one', mountPath: '/one', subPath: 'f' },
              { name: 'one', mountPath: '/ro' },
              { name: 'host', mountPath: '/host' },
            ],
          },
        ),
      ],
      initContainers: [
        {
          ...sh('echo from-init > /host/g', { volumeMounts: [{ name: 'host', mountPath: '/host' }] }),
          name: 'init',
          securityContext: { runAsUser: 0 },
        },
      ],
      volumes: [
        { name: 'e', emptyDir: {} },
        { name: 'one', configMap: { name: 'one' } },
        { name: 'host', hostPath: { path: hostFolder, type: 'DirectoryOrCreate' } },
        {
          name: 'fields',
          projected: {
            sources: [
              {
                downwardAPI: {
                  items: [
                    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
                    {
                      path: 'cpu',
                      resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' },
                    },
                  ],
                },
              },
            ],
          },
        },
      ],
    },
    { labels: { app: 'v' } },
  );
  await node.until(
    'volumes',
    'ended',
    (p) => p.status?.phase === 'Succeeded' || p.status?.phase === 'Failed',
  );
  const { text } = await node.request('/containerLogs/default/volumes/main');
  assert.deepEqual(text.split('\n').slice(0, 6), [
    '2000',
    '1000:2000',
    'app="v"1500',
    'textread-only',
    'from-init',
    '1000 2000',
  ]);
  await node.create('nohost', {
    containers: [sh('true', { volumeMounts: [{ name: 'h', mountPath: '/h' }] })],
    volumes: [{ name: 'h', hostPath: { path: join(hostFolder, 'g'), type: 'Directory' } }],
  });
  await eventually(async () =>
    assert.ok(
      (await messages('nohost')).some((m) =>
        m.includes(`hostPath type check failed: ${hostFolder}/g is not a directory`),
      ),
    ),
  );
  for (const name of ['volumes', 'nohost']) await node.remove(name);
});

test('an ephemeral container joins a running pod and sees the processes of its target', async () => {
  await node.create('target', { containers: [sh(`: marker; ${forever}`)] });
  const pod = await node.until('target', 'runs', (p) => p.status?.phase === 'Running');
  const debug = {
    name: 'debug',
    image,
    command: ['/bin/sh', '-c', 'grep -l marker /proc/1/cmdline'],
    targetContainerName: 'main',
  };
  await node.client.patch(
    pods,
    { name: 'target', namespace: 'default' },
    { type: 'strategic', body: { spec: { ephemeralContainers: [debug] } } },
    { subresource: 'ephemeralcontainers' },
  );
  const after = await node.until(
    'target',
    'was debugged',
    (p) => p.status?.ephemeralContainerStatuses?.[0]?.state?.terminated !== undefined,
  );
  assert.equal(after.status?.ephemeralContainerStatuses?.[0]?.state?.terminated?.exitCode, 0);
  assert.equal(
    after.status?.containerStatuses?.[0]?.containerID,
    pod.status?.containerStatuses?.[0]?.containerID,
  );
  await node.remove('target');
});

test('a pod past its deadline fails, one that asks for more than the node has is refused', async () => {
  await node.create('late', { activeDeadlineSeconds: 1, containers: [sh(forever)] });
  const late = await node.until('late', 'failed', (p) => p.status?.phase === 'Failed');
  assert.equal(late.status?.reason, 'DeadlineExceeded');
  assert.equal(late.status?.message, 'Pod was active on the node longer than the specified deadline');
  await node.create('big', { containers: [sh(forever, { resources: { requests: { cpu: '1000' } } })] });
  const big = await node.until('big', 'failed', (p) => p.status?.phase === 'Failed');
  assert.equal(big.status?.reason, 'OutOfcpu');
  assert.match(
    big.status?.message ?? '',
    /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: \d+, capacity: \d+$/,
  );
  for (const name of ['late', 'big']) await node.remove(name);
});

test('a program killed for memory says OOMKilled, a failing postStart hook ends its container', async () => {
  await node.create('oom', {
    restartPolicy: 'Never',
    containers: [sh('x=a; while true; do x=$x$x; done', { resources: { limits: { memory: '16Mi' } } })],
  });
  const oom = await node.until('oom', 'failed', (p) => p.status?.phase === 'Failed');
  assert.equal(oom.status?.containerStatuses?.[0]?.state?.terminated?.reason, 'OOMKilled');
  await node.create('hook', {
    containers: [sh(forever, { lifecycle: { postStart: { exec: { command: ['/bin/false'] } } } })],
  });
  await eventually(async () =>
    assert.ok((await messages('hook')).includes('FailedPostStartHook: PostStartHook failed')),
  );
  for (const name of ['oom', 'hook']) await node.remove(name);
});

test('containerd that dies is started again: what ran goes on, new pods start', async () => {
  const before = (await node.get('all')).status?.containerStatuses?.[0];
  const pidFile = join(node.directory, 'containerd/containerd.pid');
  const pid = Number(readFileSync(pidFile, 'utf8').split(' ')[0]);
  process.kill(pid, 'SIGKILL');
  await node.create('after', { containers: [sh(forever)] });
  await node.until('after', 'runs', (p) => p.status?.phase === 'Running');
  assert.notEqual(Number(readFileSync(pidFile, 'utf8').split(' ')[0]), pid);
  const now = (await node.get('all')).status?.containerStatuses?.[0];
  assert.deepEqual([now?.containerID, now?.restartCount], [before?.containerID, 0]);
  await node.remove('after');
});

test('deletion gives the program its grace, runs preStop before, and leaves nothing', async () => {
  await node.create('graceful', {
    terminationGracePeriodSeconds: 20,
    containers: [
      sh('trap "echo bye; exit 0" TERM; while true; do sleep 0.1; done', {
        lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'echo hook > /proc/1/fd/1'] } } },
      }),
    ],
  });
  const pod = await node.until('graceful', 'runs', (p) => p.status?.phase === 'Running');
  const log = join(node.directory, 'pod-logs', `default_graceful_${pod.metadata.uid}`, 'main/0.log');
  const follow = node.request('/containerLogs/default/graceful/main?follow=true');
  assert.ok(readFileSync(log));
  await node.remove('graceful');
  assert.equal((await follow).text, 'hook\nbye\n');
  await node.remove('all');
  await eventually(async () => {
    assert.deepEqual(await node.cri.runtime.listPodSandbox(), []);
    assert.deepEqual(await node.cri.runtime.listContainers(), []);
    assert.deepEqual(readdirSync(join(node.directory, 'kubelet/pods')), []);
    assert.deepEqual(readdirSync(join(node.directory, 'pod-logs')), []);
    assert.ok(!readFileSync('/proc/self/mountinfo', 'utf8').includes(`${node.directory}/kubelet`));
  });
});
