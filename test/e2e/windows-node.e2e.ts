// An emulated Windows node beside a Linux one, as a user sees them: real .exe programs under Wine, driven by the real kubectl.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { onTerminal } from '../harness/terminal.ts';

const windowsImage = 'porthole.local/sample/web-windows:ltsc2022';
const linuxImage = 'porthole.local/sample/busybox:1';

interface NodeView {
  readonly metadata: {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
  };
  readonly spec: { readonly podCIDR: string; readonly taints?: readonly object[] };
  readonly status: { readonly nodeInfo: Record<string, string> };
}
interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly terminated?: { readonly reason: string; readonly exitCode: number };
  readonly running?: object;
}
interface PodView {
  readonly status: {
    readonly phase: string;
    readonly podIP: string;
    readonly containerStatuses?: readonly { readonly state: ContainerState }[];
  };
}

let cluster: TestCluster;
let kubectl: Kubectl;

before(async () => {
  cluster = await startTestCluster({ linux: 1, windows: 1 });
  kubectl = cluster.kubectl;
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name], {
    timeoutMs: 300_000,
  });
  assert.equal(loaded.code, 0, loaded.stderr);
  await kubectl.ok(['apply', '-f', 'examples/hello.yaml']);
  for (const name of ['linux-web', 'windows-web'])
    await kubectl.ok(['rollout', 'status', `deployment/${name}`, '--timeout=120s']);
});
after(() => cluster?.down());

const onWindows = {
  nodeSelector: { 'kubernetes.io/os': 'windows' },
  terminationGracePeriodSeconds: 2,
};
const pod = (name: string, container: object, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { ...onWindows, containers: [{ name: 'main', image: windowsImage, ...container }], ...spec },
  });
const node = (script: string): object => ({ command: ['C:\\Program Files\\nodejs\\node.exe', '-e', script] });
const ready = (name: string): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=45s']);
const ended = (name: string): Promise<PodView> =>
  kubectl.until(
    ['pod', name],
    (seen: PodView) => {
      assert.match(seen.status.phase, /^(Succeeded|Failed)$/);
      return seen;
    },
    { timeoutMs: 60_000 },
  );
const lines = (text: string): string => text.replaceAll('\r\n', '\n');
const inWindows = async (...command: string[]): Promise<string> =>
  lines(await kubectl.ok(['exec', 'deploy/windows-web', '--', ...command]));
const inLinux = (...command: string[]): Promise<string> =>
  kubectl.ok(['exec', 'deploy/linux-web', '--', ...command]);
const fetchInWindows = (url: string): Promise<string> =>
  inWindows(
    'node',
    '-e',
    `fetch('${url}').then(r => r.text()).then(t => process.stdout.write(t), e => { console.error(e); process.exit(1) })`,
  );

test('top tells what nodes and pods of both systems use', async () => {
  const nodes = await kubectl.ok(['top', 'nodes']);
  for (const name of ['linux-1', 'windows-1'])
    assert.match(nodes, new RegExp(`^${name} +\\d+m +\\d+% +\\d+Mi +\\d+%`, 'm'));
  const pods = await kubectl.ok(['top', 'pods']);
  for (const name of ['linux-web', 'windows-web'])
    assert.match(pods, new RegExp(`^${name}-\\S+ +\\d+m +\\d+Mi`, 'm'));
});

describe('the emulated Windows node', () => {
  test('reports itself as a real one does, and says that it is emulated', async () => {
    const seen = await kubectl.json<NodeView>(['get', 'node', 'windows-1']);
    const { labels } = seen.metadata;
    assert.deepEqual(
      [
        labels['kubernetes.io/os'],
        labels['kubernetes.io/arch'],
        labels['beta.kubernetes.io/os'],
        labels['node.kubernetes.io/windows-build'],
        labels['porthole.dev/emulated'],
      ],
      ['windows', 'amd64', 'windows', '10.0.20348', 'true'],
    );
    assert.deepEqual(seen.spec.taints ?? [], []);
    assert.equal(seen.status.nodeInfo['operatingSystem'], 'windows');
    assert.match(seen.status.nodeInfo['osImage']!, /^Windows Server 2022 Datacenter.*emulated/);
    assert.match(seen.status.nodeInfo['kernelVersion']!, /^10\.0\.20348\.\d+$/);
    assert.match(
      await kubectl.ok(['get', 'nodes', '-o', 'wide']),
      /windows-1 .*Windows Server 2022 Datacenter/,
    );
  });

  test('runs programs that see its build', async () => {
    assert.match(await inWindows('cmd', '/c', 'ver'), /Microsoft Windows 10\.0\.20348/);
    assert.equal(
      await inWindows(
        'node',
        '-p',
        "require('os').release() + ' ' + require('os').version() + ' ' + process.platform",
      ),
      '10.0.20348 Windows Server 2022 Datacenter win32\n',
    );
  });

  test('says that there is no PowerShell instead of doing nothing', async () => {
    const { code, stderr, stdout } = await kubectl.run([
      'exec',
      'deploy/windows-web',
      '--',
      'powershell',
      '-Command',
      'Get-Date',
    ]);
    assert.notEqual(code, 0);
    assert.match(stderr + stdout, /PowerShell/);
  });

  test('gives a terminal', async () => {
    for (const tool of [cluster.kubectl, cluster.oldKubectl]) {
      const screen = await onTerminal(
        [tool.path, 'exec', '-it', 'deploy/windows-web', '--', 'cmd'],
        [
          // Typed ahead of the prompt: nothing is lost.
          { cue: /Microsoft Windows/, keys: 'echo from-%OS%\r' },
          { cue: /from-Windows_NT/, keys: 'exit 5\r' },
        ],
        { env: tool.env },
      );
      assert.match(screen, /command terminated with exit code 5/);
    }
  });

  test('keeps logs, and forwards ports', async () => {
    assert.match(
      await kubectl.ok(['logs', 'deploy/windows-web']),
      /listening on port 80, Windows Server 2022/,
    );
    for (const tool of [cluster.kubectl, cluster.oldKubectl]) {
      assert.match(await tool.ok(['logs', 'deploy/windows-web', '--tail=1']), /listening on port 80/);
      const child = linuxProcesses.spawn(tool.path, ['port-forward', 'svc/windows-web', ':80'], {
        env: tool.env,
      });
      try {
        const line = await new Promise<string>((resolve, reject) => {
          child.stdout!.once('data', (data: Buffer) => resolve(data.toString()));
          child.stderr!.once('data', (data: Buffer) => reject(new Error(data.toString())));
        });
        const answer = await fetch(`http://127.0.0.1:${/127\.0\.0\.1:(\d+)/.exec(line)?.[1]}/`, {
          signal: AbortSignal.timeout(10_000),
        });
        assert.equal(((await answer.json()) as { platform: string }).platform, 'win32');
      } finally {
        child.kill('SIGINT');
        await child.exited;
      }
    }
  });
});

describe('a Windows pod', () => {
  test('has ConfigMaps and Secrets as environment', async () => {
    await kubectl.ok(['create', 'configmap', 'win-settings', '--from-literal=COLOUR=grün']);
    await kubectl.ok(['create', 'secret', 'generic', 'win-hidden', '--from-literal=password=geheim']);
    await kubectl.apply(
      pod(
        'win-env',
        {
          ...node('console.log([process.env.COLOUR, process.env.PASSWORD, process.env.POD].join())'),
          env: [
            { name: 'COLOUR', valueFrom: { configMapKeyRef: { name: 'win-settings', key: 'COLOUR' } } },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'win-hidden', key: 'password' } } },
            { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          ],
        },
        { restartPolicy: 'Never' },
      ),
    );
    await ended('win-env');
    assert.equal(lines(await kubectl.ok(['logs', 'win-env'])), 'grün,geheim,win-env\n');
  });

  test('finds its volumes where Windows puts them, whatever way the path is written', async () => {
    // Drive C: of the emulated node is a folder of this machine, in lower case.
    const shared = join(cluster.hostDrive('windows-1'), 'shared');
    mkdirSync(shared, { recursive: true });
    writeFileSync(join(shared, 'from-host.txt'), 'from the host');
    await kubectl.apply(
      pod(
        'win-volumes',
        {
          ...node('setInterval(() => {}, 1000)'),
          volumeMounts: [
            { name: 'host', mountPath: 'C:\\etc\\foo', readOnly: true },
            { name: 'scratch', mountPath: 'C:/scratch' },
            { name: 'cache', mountPath: '/cache' },
            { name: 'config', mountPath: '/config' },
          ],
        },
        {
          volumes: [
            { name: 'host', hostPath: { path: 'C:\\Shared', type: 'Directory' } },
            { name: 'scratch', emptyDir: {} },
            { name: 'cache', emptyDir: {} },
            { name: 'config', configMap: { name: 'win-settings' } },
          ],
        },
      ),
    );
    await ready('win-volumes');
    const run = async (script: string): Promise<string> =>
      lines(await kubectl.ok(['exec', 'win-volumes', '--', 'node', '-e', script]));
    const fs = "const fs = require('fs');";
    assert.equal(
      await run(`${fs} process.stdout.write(fs.readFileSync('C:\\\\etc\\\\foo\\\\from-host.txt'))`),
      'from the host',
    );
    assert.match(
      await run(
        `${fs} try { fs.writeFileSync('C:\\\\etc\\\\foo\\\\new.txt', 'x'); console.log('written') } catch (e) { console.log(e.code) }`,
      ),
      /^(EPERM|EACCES|EROFS)\n$/,
    );
    assert.equal(
      await run(
        `${fs} fs.writeFileSync('C:/scratch/a', '1'); fs.writeFileSync('/cache/b', '2'); console.log(fs.readdirSync('c:\\\\SCRATCH') + ' ' + fs.readdirSync('C:/cache'))`,
      ),
      'a b\n',
    );
    assert.equal(await run(`${fs} process.stdout.write(fs.readFileSync('C:/config/COLOUR'))`), 'grün');
    assert.match(
      await run(
        `${fs} console.log(fs.readdirSync('C:\\\\var\\\\run\\\\secrets\\\\kubernetes.io\\\\serviceaccount').filter(n => !n.startsWith('..')).join())`,
      ),
      /^ca\.crt,namespace,token\n$/,
    );
  });

  test('of two containers talks over localhost: they share one compartment', async () => {
    await kubectl.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'win-two' },
        spec: {
          ...onWindows,
          restartPolicy: 'Never',
          containers: [
            { name: 'web', image: windowsImage, env: [{ name: 'PORT', value: '8081' }] },
            {
              name: 'caller',
              image: windowsImage,
              ...node(
                "const go = () => fetch('http://localhost:8081/healthz').then(r => r.text()).then(t => { console.log('heard', t.trim()); process.exit(0) }, () => setTimeout(go, 200)); go()",
              ),
            },
          ],
        },
      }),
    );
    await eventually(
      async () => assert.match(await kubectl.ok(['logs', 'win-two', '-c', 'caller']), /heard ok/),
      { timeoutMs: 60_000 },
    );
    await kubectl.ok(['delete', 'pod', 'win-two', '--wait=false']);
  });

  test('past its memory limit is never shown as OOMKilled', async () => {
    await kubectl.apply(
      pod(
        'win-hog',
        {
          ...node('const a = []; for (;;) a.push(Buffer.alloc(16 << 20, 1))'),
          resources: { limits: { memory: '256Mi' } },
        },
        { restartPolicy: 'Never' },
      ),
    );
    const seen = await ended('win-hog');
    const terminated = seen.status.containerStatuses?.[0]?.state.terminated;
    assert.equal(terminated?.reason, 'Error');
    assert.notEqual(terminated?.exitCode, 0);
  });

  test('finds its node by selector, by spec.os or by its image alone, and never lands on Linux', async () => {
    const anywhere = { nodeSelector: {}, terminationGracePeriodSeconds: 2 };
    await kubectl.apply(pod('by-selector', {}, { ...anywhere, nodeSelector: onWindows.nodeSelector }));
    await kubectl.apply(pod('by-os', {}, { ...anywhere, os: { name: 'windows' } }));
    await kubectl.apply(pod('by-image', {}, anywhere));
    const linux = { image: linuxImage, command: ['sleep', '3600'] };
    await eventually(async () =>
      assert.ok(
        (
          await kubectl.ok(['get', 'node', 'windows-1', '-o', 'jsonpath={.status.images[*].names[*]}'])
        ).includes(windowsImage),
      ),
    );
    await kubectl.apply(pod('linux-pod', linux, anywhere));
    for (const [name, node] of [
      ['by-selector', 'windows-1'],
      ['by-os', 'windows-1'],
      ['by-image', 'windows-1'],
      ['linux-pod', 'linux-1'],
    ] as const) {
      await ready(name);
      assert.equal(await kubectl.ok(['get', 'pod', name, '-o', 'jsonpath={.spec.nodeName}']), node, name);
      await kubectl.ok(['delete', 'pod', name, '--wait=false']);
    }
    const wrong = { ...anywhere, os: { name: 'windows' }, nodeSelector: { 'kubernetes.io/os': 'linux' } };
    await kubectl.apply(pod('never-on-linux', {}, wrong));
    await eventually(async () =>
      assert.match(
        await kubectl.ok(['get', 'events', '--field-selector', 'involvedObject.name=never-on-linux']),
        /FailedScheduling.*didn't have the pod's operating system \{windows\}/,
      ),
    );
    await kubectl.ok(['delete', 'pod', 'never-on-linux']);
  });

  test('with spec.os of another system is refused by the node, as the kubelet does', async () => {
    await kubectl.apply(pod('win-linux-os', {}, { os: { name: 'linux' }, nodeName: 'windows-1' }));
    await eventually(async () =>
      assert.match(
        await kubectl.ok(['get', 'pod', 'win-linux-os', '-o', 'jsonpath={.status.reason}']),
        /PodOSNotSupported/,
      ),
    );
  });
});

describe('Linux and Windows pods', () => {
  test('reach each other by pod address, Service address and name, both ways', async () => {
    const addressOf = async (app: string): Promise<string> =>
      (
        await kubectl.ok(['get', 'pod', '-l', `app=${app}`, '-o', 'jsonpath={.items[0].status.podIP}'])
      ).trim();
    const serviceOf = async (name: string): Promise<string> =>
      (await kubectl.ok(['get', 'service', name, '-o', 'jsonpath={.spec.clusterIP}'])).trim();
    for (const host of [
      await addressOf('windows-web'),
      await serviceOf('windows-web'),
      'windows-web',
      'windows-web.default.svc.cluster.local',
    ]) {
      assert.match(
        await inLinux('wget', '-qO-', `http://${host}/`),
        /"platform": "win32"/,
        `Linux to Windows by ${host}`,
      );
    }
    for (const host of [
      await addressOf('linux-web'),
      await serviceOf('linux-web'),
      'linux-web',
      'linux-web.default.svc.cluster.local',
    ]) {
      assert.match(
        await fetchInWindows(`http://${host}/`),
        /Hello from a Linux container/,
        `Windows to Linux by ${host}`,
      );
    }
  });

  test('are reached from outside by NodePort on every node', async () => {
    await kubectl.ok([
      'expose',
      'deployment',
      'windows-web',
      '--name=windows-out',
      '--type=NodePort',
      '--port=80',
    ]);
    const port = await kubectl.ok([
      'get',
      'service',
      'windows-out',
      '-o',
      'jsonpath={.spec.ports[0].nodePort}',
    ]);
    for (const name of ['linux-1', 'windows-1']) {
      const address = await kubectl.ok([
        'get',
        'node',
        name,
        '-o',
        'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}',
      ]);
      await eventually(async () => {
        const answer = await fetch(`http://${address}:${port}/healthz`, {
          signal: AbortSignal.timeout(2_000),
        });
        assert.equal(await answer.text(), 'ok\n');
      });
    }
  });

  test('get new addresses behind the same name when they are replaced', async () => {
    await kubectl.ok(['rollout', 'restart', 'deployment/linux-web']);
    await kubectl.ok(['rollout', 'status', 'deployment/linux-web', '--timeout=60s']);
    await eventually(async () =>
      assert.match(await fetchInWindows('http://linux-web/'), /Hello from a Linux container/),
    );
  });

  test('resolve the names of pods, services and the world as a cluster does', async () => {
    assert.match(await inLinux('nslookup', 'kubernetes.default.svc.cluster.local'), /10\.96\.0\.1/);
    assert.match(
      await inLinux('cat', '/etc/resolv.conf'),
      /nameserver 10\.96\.0\.10\n.*search default\.svc\.cluster\.local|search default\.svc\.cluster\.local/s,
    );
  });
});
