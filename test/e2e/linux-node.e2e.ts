// A Linux node as a user sees it: real containers through containerd and runc, driven by the real kubectl 1.36 and 1.20.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { readExposition } from '../harness/exposition.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  busybox,
  limit,
  podManifest as pod,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { onTerminal } from '../harness/terminal.ts';

interface PodView {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly qosClass?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly containerID?: string;
      readonly ready: boolean;
      readonly state?: {
        readonly waiting?: { readonly reason: string; readonly message?: string };
        readonly terminated?: {
          readonly reason: string;
          readonly exitCode: number;
          readonly message?: string;
        };
      };
      readonly lastState?: {
        readonly terminated?: {
          readonly reason: string;
          readonly exitCode: number;
          readonly message?: string;
        };
      };
    }[];
  };
}

let cluster: TestCluster;
let kubectl: Kubectl;
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
}, limit);
after(() => cluster?.down(), limit);

const view = (name: string): Promise<PodView> => kubectl.json<PodView>(['get', 'pod', name]);
const ready = (name: string): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);
const phase = (name: string, wanted: string): Promise<PodView> =>
  kubectl.until(['pod', name], (seen: PodView) => {
    assert.equal(seen.status.phase, wanted);
    return seen;
  });
describe('a Linux node', () => {
  test('is Ready, with its addresses, capacity and pod CIDR', limit, async () => {
    const [node] = (
      await kubectl.json<{
        items: {
          spec: { podCIDR: string };
          status: {
            nodeInfo: Record<string, string>;
            allocatable: Record<string, string>;
            conditions: { type: string; status: string }[];
          };
        }[];
      }>(['get', 'nodes'])
    ).items;
    assert.match(node!.spec.podCIDR, /^10\.\d+\.\d+\.0\/24$/);
    assert.equal(node!.status.nodeInfo['operatingSystem'], 'linux');
    assert.match(node!.status.nodeInfo['containerRuntimeVersion']!, /^containerd:\/\//);
    assert.equal(node!.status.conditions.find((condition) => condition.type === 'Ready')?.status, 'True');
    assert.equal(node!.status.allocatable['pods'], '110');
  });

  test('tells of its agent, and of what its pods take, to whoever may ask', limit, async () => {
    const [name] = (await kubectl.ok(['get', 'nodes', '-o', 'name'])).trim().split('\n');
    const path = `/api/v1/${name!.replace('node/', 'nodes/')}/proxy/metrics`;
    const text = await kubectl.ok(['get', '--raw', path]);
    for (const line of [
      /^kubernetes_build_info\{.*git_version="v1\.36/m,
      /^process_cpu_seconds_total [0-9.]+$/m,
      /^process_resident_memory_bytes [1-9]/m,
      /^rest_client_requests_total\{code="20[01]",method="(POST|PATCH|PUT)",host="[0-9.]+:\d+"\} [1-9]/m,
      /^rest_client_request_duration_seconds_count\{verb="GET",host="[0-9.]+:\d+"\} [1-9]/m,
      /^kubelet_certificate_manager_client_ttl_seconds [1-9]/m,
      /^kubelet_certificate_manager_server_ttl_seconds [1-9]/m,
    ])
      assert.match(text, line);
    const used = await kubectl.ok(['get', '--raw', `${path}/cadvisor`]);
    for (const one of [text, used, await kubectl.ok(['get', '--raw', `${path}/resource`])])
      readExposition(one);
    assert.match(used, /^container_cpu_usage_seconds_total\{container="",cpu="total",id="\/[^"]*kubepods"/m);
  });
});

for (const version of ['1.36', '1.20'] as const) {
  describe(`kubectl ${version}`, () => {
    const tool = (): Kubectl => (version === '1.36' ? cluster.kubectl : cluster.oldKubectl);
    const name = `talk-${version.replace('.', '-')}`;
    before(async () => {
      await kubectl.apply(
        pod(name, {
          command: [
            'sh',
            '-c',
            'echo one; echo two; echo three; mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www',
          ],
        }),
      );
      await ready(name);
    }, limit);

    test('logs: all, --tail, --since, --timestamps', limit, async () => {
      await eventually(async () => assert.equal(await tool().ok(['logs', name]), 'one\ntwo\nthree\n'));
      assert.equal(await tool().ok(['logs', name, '--tail=1']), 'three\n');
      assert.equal(await tool().ok(['logs', name, '--since=1h', '-c', 'main']), 'one\ntwo\nthree\n');
      assert.match(
        await tool().ok(['logs', name, '--tail=1', '--timestamps']),
        /^\d{4}-\d\d-\d\dT[\d:.]+Z three\n$/,
      );
    });

    test('exec gives output, errors and the exit code', limit, async () => {
      const result = await tool().run(['exec', name, '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
      assert.deepEqual([result.code, result.stdout], [7, 'out\n']);
      assert.match(result.stderr, /err\n.*exit code 7/s);
    });

    test('exec -i passes standard input to its end', limit, async () => {
      const text = `${'x'.repeat(100_000)}\n`;
      assert.equal(
        (await tool().ok(['exec', '-i', name, '--', 'wc', '-c'], { input: text })).trim(),
        String(text.length),
      );
    });

    test('exec -it is a terminal', limit, async () => {
      const screen = await onTerminal(
        ['stty', 'rows', '31', 'cols', '97;', tool().path, 'exec', '-it', name, '--', 'sh'],
        [
          { cue: /# /, keys: 'tty; stty size\r' },
          { cue: /\/dev\/(pts\/\d+|console)\s+31 97\s[\s\S]*# /, keys: 'exit 3\r' },
        ],
        { env: tool().env },
      );
      assert.match(screen, /command terminated with exit code 3/);
    });

    test('cp copies a file there and back', limit, async () => {
      const scratch = scratchDirectory('cp');
      try {
        writeFileSync(join(scratch.path, 'there'), 'content\n');
        await tool().ok(['cp', join(scratch.path, 'there'), `${name}:/tmp/file`]);
        await tool().ok(['cp', `${name}:/tmp/file`, join(scratch.path, 'back')]);
        assert.equal(readFileSync(join(scratch.path, 'back'), 'utf8'), 'content\n');
      } finally {
        scratch.remove();
      }
    });

    test('port-forward carries requests', limit, async () => {
      const child = linuxProcesses.spawn(tool().path, ['port-forward', name, ':8080'], { env: tool().env });
      try {
        const line = await new Promise<string>((resolve, reject) => {
          child.stdout!.once('data', (data: Buffer) => resolve(data.toString()));
          child.stderr!.once('data', (data: Buffer) => reject(new Error(data.toString())));
        });
        const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
        for (let i = 0; i < 3; i++)
          assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'hello\n');
      } finally {
        child.kill('SIGINT');
        await child.exited;
      }
    });

    test('attach shows what the process prints', limit, async () => {
      const own = `${name}-attach`;
      await kubectl.apply(
        pod(
          own,
          { command: ['sh', '-c', 'read line; echo "got $line"; sleep 0.2'], stdin: true, stdinOnce: true },
          { restartPolicy: 'Never' },
        ),
      );
      await ready(own);
      const { stdout } = await tool().run(['attach', '-i', own], { input: 'ping\n', timeoutMs: 30_000 });
      assert.match(stdout, /got ping/);
      await phase(own, 'Succeeded');
    });
  });
}

describe('a pod', () => {
  test('follows its logs until it ends, and keeps those of the container before', limit, async () => {
    await kubectl.apply(
      pod(
        'counts',
        {
          command: [
            'sh',
            '-c',
            'for i in 1 2 3; do echo $i; sleep 0.1; done; [ -e /state/again ] && sleep 600; touch /state/again',
          ],
          volumeMounts: [{ name: 'state', mountPath: '/state' }],
        },
        { volumes: [{ name: 'state', emptyDir: {} }] },
      ),
    );
    await kubectl.until(['pod', 'counts'], ({ status }: PodView) =>
      assert.equal(status.containerStatuses?.[0]?.restartCount, 1),
    );
    assert.equal(await kubectl.ok(['logs', 'counts', '--previous']), '1\n2\n3\n');
    await kubectl.apply(
      pod(
        'follows',
        { command: ['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.2; done'] },
        { restartPolicy: 'Never' },
      ),
    );
    await eventually(async () => assert.match(await kubectl.ok(['logs', 'follows']), /1/));
    assert.equal(await kubectl.ok(['logs', '-f', 'follows']), '1\n2\n3\n');
  });

  test('has its environment from everywhere', limit, async () => {
    await kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'settings' },
            data: { COLOUR: 'green', SIZE: 'XL' },
          },
          {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { name: 'hidden' },
            stringData: { PASSWORD: 'pässword' },
          },
        ],
      }),
    );
    await kubectl.apply(
      pod(
        'env',
        {
          command: ['sh', '-c', 'env; echo "args: $0 $1"', '$(COMBINED)', '$(MISSING)'],
          envFrom: [{ configMapRef: { name: 'settings' }, prefix: 'CM_' }],
          env: [
            { name: 'PLAIN', value: 'a value' },
            { name: 'COMBINED', value: '$(PLAIN)!' },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'hidden', key: 'PASSWORD' } } },
            { name: 'MY_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'MY_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            {
              name: 'MY_LIMIT',
              valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } },
            },
          ],
          resources: { limits: { memory: '64Mi', cpu: '200m' } },
        },
        { restartPolicy: 'Never' },
      ),
    );
    const seen = await phase('env', 'Succeeded');
    const log = await kubectl.ok(['logs', 'env']);
    for (const line of [
      'CM_COLOUR=green',
      'CM_SIZE=XL',
      'PLAIN=a value',
      'COMBINED=a value!',
      'PASSWORD=pässword',
      'MY_NAME=env',
      `MY_IP=${seen.status.podIP}`,
      'MY_LIMIT=64',
      'KUBERNETES_SERVICE_PORT=443',
    ]) {
      assert.ok(log.split('\n').includes(line), `${line} in\n${log}`);
    }
    assert.match(log, /args: a value! \$\(MISSING\)/);
  });

  test('sees volumes of every kind, and a changed ConfigMap without a restart', limit, async () => {
    await kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'files' },
        data: { 'a.txt': 'before' },
      }),
    );
    await kubectl.apply(
      pod(
        'volumes',
        {
          command: untilTerm,
          volumeMounts: [
            { name: 'config', mountPath: '/config' },
            { name: 'all', mountPath: '/all' },
            { name: 'scratch', mountPath: '/scratch' },
            { name: 'config', mountPath: '/one/a.txt', subPath: 'a.txt' },
            { name: 'memory', mountPath: '/memory' },
          ],
        },
        {
          volumes: [
            { name: 'config', configMap: { name: 'files', defaultMode: 0o440 } },
            { name: 'scratch', emptyDir: {} },
            { name: 'memory', emptyDir: { medium: 'Memory' } },
            {
              name: 'all',
              projected: {
                sources: [
                  { configMap: { name: 'files', items: [{ key: 'a.txt', path: 'nested/b.txt' }] } },
                  {
                    downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
                  },
                  { serviceAccountToken: { path: 'token', audience: 'somebody', expirationSeconds: 3600 } },
                ],
              },
            },
          ],
        },
      ),
    );
    await ready('volumes');
    const read = (path: string): Promise<string> => kubectl.ok(['exec', 'volumes', '--', 'cat', path]);
    assert.equal(await read('/config/a.txt'), 'before');
    assert.equal(await read('/one/a.txt'), 'before');
    assert.equal(await read('/all/nested/b.txt'), 'before');
    assert.equal((await read('/all/labels')).trim(), 'app="volumes"');
    assert.equal((await read('/all/token')).split('.').length, 3);
    assert.match(
      await kubectl.ok(['exec', 'volumes', '--', 'stat', '-L', '-c', '%a', '/config/a.txt']),
      /440/,
    );
    assert.match(await kubectl.ok(['exec', 'volumes', '--', 'mount']), /tmpfs on \/memory/);
    await kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'files' },
        data: { 'a.txt': 'after' },
      }),
    );
    await eventually(async () => assert.equal(await read('/config/a.txt'), 'after'), { timeoutMs: 90_000 });
    assert.equal((await view('volumes')).status.containerStatuses?.[0]?.restartCount, 0);
  });

  test('talks to the API with its own token', limit, async () => {
    await kubectl.apply(
      pod(
        'token',
        {
          command: [
            'sh',
            '-c',
            'cd /var/run/secrets/kubernetes.io/serviceaccount; cat namespace; ls ca.crt token',
          ],
        },
        { restartPolicy: 'Never' },
      ),
    );
    await phase('token', 'Succeeded');
    assert.equal(await kubectl.ok(['logs', 'token']), 'defaultca.crt\ntoken\n');
  });

  test('runs init containers in order, then its containers', limit, async () => {
    const write = (text: string): object => ({
      name: text,
      image: busybox,
      command: ['sh', '-c', `echo ${text} >> /shared/log`],
      volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
    });
    await kubectl.apply(
      pod(
        'inits',
        { command: ['cat', '/shared/log'], volumeMounts: [{ name: 'shared', mountPath: '/shared' }] },
        {
          restartPolicy: 'Never',
          initContainers: [write('first'), write('second')],
          volumes: [{ name: 'shared', emptyDir: {} }],
        },
      ),
    );
    await phase('inits', 'Succeeded');
    assert.equal(await kubectl.ok(['logs', 'inits']), 'first\nsecond\n');
  });

  test('has its limits as cgroups, and is OOMKilled past its memory', limit, async () => {
    await kubectl.apply(
      pod(
        'hog',
        {
          command: ['sh', '-c', 'x=a; while true; do x=$x$x; done'],
          resources: { limits: { memory: '32Mi' } },
        },
        { restartPolicy: 'Never' },
      ),
    );
    const seen = await phase('hog', 'Failed');
    assert.equal(seen.status.containerStatuses?.[0]?.state?.terminated?.reason, 'OOMKilled');
    assert.equal(seen.status.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
  });

  test('is OOMKilled past the memory of its pod as a whole, and is of the class it says', limit, async () => {
    const resources = { limits: { memory: '32Mi', cpu: '100m' } };
    const eats = { command: ['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=100M', 'count=1'] };
    await kubectl.apply(pod('shared-hog', eats, { restartPolicy: 'Never', resources }));
    await kubectl.apply(pod('shared', { command: ['sleep', '600'] }, { resources }));
    const ended = await phase('shared-hog', 'Failed');
    assert.equal(ended.status.containerStatuses?.[0]?.state?.terminated?.reason, 'OOMKilled');
    const runs = await phase('shared', 'Running');
    assert.equal(runs.status.qosClass, 'Guaranteed');
    const group = await kubectl.ok(['exec', 'shared', '--', 'cat', '/proc/1/cgroup']);
    assert.match(group, new RegExp(`/kubepods/pod${runs.metadata.uid}/`));
  });

  test('is restarted by its liveness probe, and is Ready by its readiness probe', limit, async () => {
    await kubectl.apply(
      pod('probed', {
        command: ['sh', '-c', 'mkdir -p /www; touch /alive; exec httpd -f -p 8080 -h /www'],
        livenessProbe: { exec: { command: ['cat', '/alive'] }, periodSeconds: 1, failureThreshold: 1 },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 },
        startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    );
    await phase('probed', 'Running');
    assert.equal((await view('probed')).status.containerStatuses?.[0]?.ready, false);
    await kubectl.ok(['exec', 'probed', '--', 'touch', '/www/ready']);
    await ready('probed');
    await kubectl.ok(['exec', 'probed', '--', 'rm', '/alive']);
    await kubectl.until(['pod', 'probed'], ({ status }: PodView) =>
      assert.equal(status.containerStatuses?.[0]?.restartCount, 1),
    );
    assert.match(
      await kubectl.ok(['get', 'events', '--field-selector', 'involvedObject.name=probed']),
      /Unhealthy.*Liveness probe failed/,
    );
  });

  test('that crashes is restarted with back-off; its termination message is kept', limit, async () => {
    await kubectl.apply(
      pod('crashes', { command: ['sh', '-c', 'echo last words > /dev/termination-log; exit 4'] }),
    );
    await kubectl.until(['pod', 'crashes'], (seen: PodView) => {
      const [status] = seen.status.containerStatuses ?? [];
      assert.equal(status?.state?.waiting?.reason, 'CrashLoopBackOff');
      assert.equal(status?.lastState?.terminated?.exitCode, 4);
      assert.equal(status?.lastState?.terminated?.message, 'last words\n');
    });
  });

  test('that is deleted gets its time to end', limit, async () => {
    await kubectl.apply(
      pod(
        'graceful',
        {
          command: ['sh', '-c', 'trap "echo bye > /out/said; exit 0" TERM; while true; do sleep 0.1; done'],
          volumeMounts: [{ name: 'out', mountPath: '/out' }],
        },
        {
          terminationGracePeriodSeconds: 20,
          volumes: [
            { name: 'out', hostPath: { path: join(cluster.home, 'graceful'), type: 'DirectoryOrCreate' } },
          ],
        },
      ),
    );
    await ready('graceful');
    await kubectl.ok(['delete', 'pod', 'graceful', '--timeout=60s']);
    assert.equal(readFileSync(join(cluster.home, 'graceful/said'), 'utf8'), 'bye\n');
  });

  test('that stops whatever is started in it is killed all the same', limit, async () => {
    const command = ['sh', '-c', 'while true; do kill -STOP -1; done'];
    await kubectl.apply(pod('stops-all', { command }, { terminationGracePeriodSeconds: 1 }));
    await ready('stops-all');
    // runc's own process in the container is stopped, too, and containerd's shim waits for it.
    await kubectl.run(['exec', 'stops-all', '--', 'true'], { timeoutMs: 5000 }).catch(() => undefined);
    await kubectl.ok(['delete', 'pod', 'stops-all', '--timeout=60s']);
  });

  test('says why its image can not be had', limit, async () => {
    await kubectl.apply(
      pod('no-image', { image: 'porthole.local/sample/nothing:1', imagePullPolicy: 'Never' }),
    );
    await kubectl.until(['pod', 'no-image'], ({ status }: PodView) =>
      assert.equal(status.containerStatuses?.[0]?.state?.waiting?.reason, 'ErrImageNeverPull'),
    );
  });
});

describe('restarts', () => {
  test('of the agent leave running containers alone', limit, async () => {
    await kubectl.apply(pod('stays', { command: untilTerm }));
    await ready('stays');
    const id = (await view('stays')).status.containerStatuses![0]!.containerID;
    await cluster.crashAndRepair('agent linux-1');
    await kubectl.apply(pod('after-agent', { command: ['true'] }, { restartPolicy: 'Never' }));
    await phase('after-agent', 'Succeeded');
    const [status] = (await view('stays')).status.containerStatuses!;
    assert.deepEqual([status!.containerID, status!.restartCount], [id, 0]);
    assert.equal((await kubectl.ok(['exec', 'stays', '--', 'echo', 'here'])).trim(), 'here');
  });

  test('of the server after kill -9 lose nothing that was acknowledged', limit, async () => {
    await kubectl.ok(['create', 'configmap', 'kept', '--from-literal=a=1']);
    const before = await kubectl.ok([
      'get',
      'configmap',
      'kept',
      '-o',
      'jsonpath={.metadata.uid} {.metadata.resourceVersion}',
    ]);
    await cluster.crashAndRepair('server');
    assert.equal(
      await kubectl.ok([
        'get',
        'configmap',
        'kept',
        '-o',
        'jsonpath={.metadata.uid} {.metadata.resourceVersion}',
      ]),
      before,
    );
    await kubectl.apply(pod('after-server', { command: ['true'] }, { restartPolicy: 'Never' }));
    await phase('after-server', 'Succeeded');
  });
});
