// In-place resize of a pod that runs, with real containers and the real kubectl: control groups, and programs that go on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { limit, podManifest, startLinuxCluster, untilTerm } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
}, limit);
after(() => cluster?.down(), limit);

const amounts = (cpu: string, memory: string) => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const resize = (resources: object): Promise<string> => {
  const patch = JSON.stringify({ spec: { containers: [{ name: 'main', resources }] } });
  return kubectl.ok(['patch', 'pod', 'web', '--subresource', 'resize', '--patch', patch]);
};

interface PodView {
  readonly status: {
    readonly conditions: readonly {
      readonly type: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses: readonly {
      readonly restartCount: number;
      readonly resources: object;
    }[];
  };
}

/** As the program finds them: quota and memory of its own control group, whichever version the machine has. */
async function inContainer(): Promise<string[]> {
  const script =
    'if [ -f /sys/fs/cgroup/cpu.max ]; then cut -d" " -f1 /sys/fs/cgroup/cpu.max; cat /sys/fs/cgroup/memory.max; ' +
    'else cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/memory/memory.limit_in_bytes; fi';
  const out = await kubectl.ok(['exec', 'web', '--', 'sh', '-c', script]);
  return out.trim().split('\n');
}

const became = (resources: object, restarts: number): Promise<PodView> =>
  kubectl.until(['pod', 'web'], (pod: PodView) => {
    const [main] = pod.status.containerStatuses;
    assert.deepEqual(main?.resources, resources);
    assert.equal(main?.restartCount, restarts);
    assert.ok(!pod.status.conditions.some(({ type }) => type.startsWith('PodResize')));
    return pod;
  });

test(
  'processors and memory of a program that runs grow and shrink; it starts anew where its container says so',
  limit,
  async () => {
    await kubectl.apply(
      podManifest('web', {
        command: untilTerm,
        resources: amounts('200m', '64Mi'),
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'memory', restartPolicy: 'RestartContainer' },
        ],
      }),
    );
    await kubectl.ok(['wait', '--for=condition=Ready', 'pod/web', '--timeout=60s']);
    assert.deepEqual(await inContainer(), ['20000', String(64 << 20)]);
    await resize(amounts('400m', '64Mi'));
    await became(amounts('400m', '64Mi'), 0);
    assert.deepEqual(await inContainer(), ['40000', String(64 << 20)]);
    await resize(amounts('100m', '64Mi'));
    await became(amounts('100m', '64Mi'), 0);
    assert.deepEqual(await inContainer(), ['10000', String(64 << 20)]);
    await resize(amounts('100m', '128Mi'));
    await became(amounts('100m', '128Mi'), 1);
    await eventually(async () => assert.deepEqual(await inContainer(), ['10000', String(128 << 20)]));
    const described = await kubectl.ok(['describe', 'pod', 'web']);
    for (const words of [
      /ResizeStarted .*Pod resize started: /,
      /ResizeCompleted /,
      /Container main resize requires restart/,
    ])
      assert.match(described, words);
  },
);

test(
  'a program that has taken more memory than it is to keep is not killed: the pod says why it waits',
  limit,
  async () => {
    await kubectl.ok(['delete', 'pod', 'web', '--now']);
    await kubectl.apply(
      podManifest(
        'web',
        {
          command: ['sh', '-c', `dd if=/dev/zero of=/mem/a bs=1M count=40; ${untilTerm.at(-1)}`],
          volumeMounts: [{ name: 'shm', mountPath: '/mem' }],
          readinessProbe: {
            exec: { command: ['sh', '-c', 'test $(stat -c %s /mem/a) = 41943040'] },
            periodSeconds: 1,
          },
          resources: { limits: { memory: '96Mi' }, requests: { memory: '8Mi' } },
        },
        { volumes: [{ name: 'shm', emptyDir: { medium: 'Memory' } }] },
      ),
    );
    await kubectl.ok(['wait', '--for=condition=Ready', 'pod/web', '--timeout=60s']);
    await resize({ limits: { memory: '16Mi' } });
    await kubectl.until(['pod', 'web'], ({ status }: PodView) => {
      const { reason, message = '' } =
        status.conditions.find(({ type }) => type === 'PodResizeInProgress') ?? {};
      assert.equal(reason, 'Error');
      assert.match(
        message,
        /^attempting to set container "main" memory limit \(16777216\) below current usage \(4[0-9]{7}\)$/,
      );
    });
    await kubectl.ok(['exec', 'web', '--', 'rm', '/mem/a']);
    await became({ limits: { memory: '16Mi' }, requests: { memory: '8Mi' } }, 0);
  },
);
