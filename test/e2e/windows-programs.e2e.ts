// What Windows programs can do in a cluster: end in their own time, give their codes, be talked to, and talk to the world.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxLinks } from '../../src/os/linux/ip-links.ts';
import { linuxNetworkNamespaces, processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';

const windowsImage = 'porthole.local/sample/web-windows:ltsc2022';
const linuxImage = 'porthole.local/sample/busybox:1';

interface ContainerView {
  readonly restartCount: number;
  readonly state: { readonly terminated?: { readonly exitCode: number; readonly reason: string } };
}

let cluster: TestCluster;
let kubectl: Kubectl;

const worldsNeighbour = '192.0.2.1';

/** A machine beyond ours, that answers who asks with the address it sees. */
async function withWorld(ask: (url: string) => Promise<void>): Promise<void> {
  const namespaces = linuxNetworkNamespaces(linuxProcesses);
  await namespaces.create(['world']);
  const inWorld = processesInNetns(linuxProcesses, namespaces.path('world'));
  await linuxLinks(linuxProcesses).apply([
    { do: 'addVeth', name: 'toworld', peer: { name: 'eth0', netns: 'world' } },
    { do: 'replaceAddress', name: 'toworld', address: `${worldsNeighbour}/24` },
    { do: 'setLink', name: 'toworld', up: true },
  ]);
  await linuxLinks(inWorld).apply([
    { do: 'replaceAddress', name: 'eth0', address: '192.0.2.77/24' },
    { do: 'setLink', name: 'eth0', up: true },
    { do: 'replaceRoute', to: 'default', via: worldsNeighbour },
  ]);
  const script = `require('http').createServer((q, r) => r.end(q.socket.remoteAddress)).listen(8080, '192.0.2.77', () => console.log('up'))`;
  const world = inWorld.spawn(process.execPath, ['-e', script]);
  try {
    await once(world.stdout!, 'data');
    await ask('http://192.0.2.77:8080/');
  } finally {
    world.kill('SIGKILL');
    await world.exited;
    await namespaces.delete(['world']);
  }
}

before(
  async () => {
    cluster = await startTestCluster({ linux: 1, windows: 1 });
    kubectl = cluster.kubectl;
    const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
    assert.equal(loaded.code, 0, loaded.stderr);
    await kubectl.apply(windowsPod('tools', {}));
    await ready('tools');
  },
  { timeout: 240_000 },
);
let isDown = false;
after(() => (isDown ? rmSync(cluster.home, { recursive: true, force: true }) : cluster?.down()));

const limit = { timeout: 60_000 };
const node = (script: string): object => ({ command: ['C:\\Program Files\\nodejs\\node.exe', '-e', script] });
function windowsPod(name: string, container: object, spec: object = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'windows' },
      terminationGracePeriodSeconds: 2,
      containers: [{ name: 'main', image: windowsImage, ...container }],
      ...spec,
    },
  });
}
const linuxPod = (name: string, script: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: linuxImage,
          command: ['sh', '-c', script],
          volumeMounts: [{ name: 'programs', mountPath: '/programs' }],
        },
      ],
      volumes: [{ name: 'programs', hostPath: { path: cluster.home } }],
    },
  });
const ready = (name: string): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=45s']);
interface PodView {
  readonly status: { readonly containerStatuses?: readonly ContainerView[] };
}
const terminated = (name: string): Promise<{ readonly exitCode: number; readonly reason: string }> =>
  kubectl.until(['pod', name], ({ status }: PodView) => {
    const end = status.containerStatuses?.[0]?.state.terminated;
    assert.ok(end);
    return end;
  });
const lines = (text: string): string => text.replaceAll('\r\n', '\n');
/** Runs a script in the pod `tools`; what it prints. */
const run = async (script: string): Promise<string> =>
  lines(await kubectl.ok(['exec', 'tools', '--', 'node', '-e', script]));

describe('a Windows program', () => {
  test('that is deleted gets CTRL_SHUTDOWN_EVENT and its grace to finish', limit, async () => {
    const program = await buildNative(linuxProcesses, portholeCache(), {
      name: 'goodbye',
      target: 'windows',
      source: fileURLToPath(new URL('./programs/goodbye.c', import.meta.url)),
    });
    const shared = join(cluster.hostDrive('windows-1'), 'shared');
    mkdirSync(shared, { recursive: true });
    copyFileSync(program, join(shared, 'goodbye.exe'));
    await kubectl.apply(
      windowsPod(
        'goodbye',
        {
          command: ['C:\\shared\\goodbye.exe', 'C:\\shared\\goodbye.txt'],
          volumeMounts: [{ name: 'shared', mountPath: 'C:\\shared' }],
        },
        {
          terminationGracePeriodSeconds: 20,
          volumes: [{ name: 'shared', hostPath: { path: 'C:\\shared' } }],
        },
      ),
    );
    await ready('goodbye');
    await eventually(async () => assert.match(await kubectl.ok(['logs', 'goodbye']), /ready/));
    const follow = kubectl.run(['logs', '-f', 'goodbye'], { timeoutMs: 30_000 });
    const from = performance.now();
    await kubectl.ok(['delete', 'pod', 'goodbye']);
    assert.ok(performance.now() - from < 10_000, 'it did not take the whole grace');
    assert.equal(lines(readFileSync(join(shared, 'goodbye.txt'), 'utf8')), 'goodbye after event 6\n');
    assert.match(lines((await follow).stdout), /^ready\nevent 6\ngoodbye\n/);
  });

  test('has its whole exit code in the status, and exec passes codes on', limit, async () => {
    for (const [name, code] of [
      ['code-big', 1_234_567],
      ['code-negative', -1_073_741_510],
    ] as const) {
      await kubectl.apply(
        windowsPod(name, { command: ['cmd', '/c', `exit ${code}`] }, { restartPolicy: 'Never' }),
      );
      assert.deepEqual(
        { ...(await terminated(name)), startedAt: '', finishedAt: '', containerID: '' },
        { exitCode: code, reason: 'Error', startedAt: '', finishedAt: '', containerID: '' },
      );
    }
    for (const tool of [cluster.kubectl, cluster.oldKubectl]) {
      const { code, stderr } = await tool.run(['exec', 'tools', '--', 'cmd', '/c', 'exit 42']);
      assert.equal(code, 42);
      assert.match(stderr, /command terminated with exit code 42/);
      assert.equal((await tool.run(['exec', 'tools', '--', 'nosuch.exe'])).code, 127);
    }
  });

  test('that ended is read by logs --previous', limit, async () => {
    await kubectl.apply(windowsPod('crashes', { command: ['cmd', '/c', 'echo first words& exit 3'] }));
    await kubectl.until(['pod', 'crashes'], ({ status }: PodView) =>
      assert.ok((status.containerStatuses?.[0]?.restartCount ?? 0) >= 1),
    );
    assert.match(await kubectl.ok(['logs', 'crashes', '--previous']), /^first words\r?\n$/);
    await kubectl.ok(['delete', 'pod', 'crashes', '--wait=false']);
  });

  test('is attached to, with its standard input, by both kubectls', limit, async () => {
    const script = "process.stdin.on('data', d => process.stdout.write(String(d).toUpperCase()))";
    await kubectl.apply(windowsPod('listens', { ...node(`console.log('ready'); ${script}`), stdin: true }));
    await ready('listens');
    await eventually(async () => assert.match(await kubectl.ok(['logs', 'listens']), /ready/));
    for (const tool of [cluster.kubectl, cluster.oldKubectl]) {
      const child = linuxProcesses.spawn(tool.path, ['attach', '-i', 'listens'], { env: tool.env });
      try {
        const heard = new Promise<void>((resolve, reject) => {
          let text = '';
          child.stdout!.on('data', (data: Buffer) => {
            text += data.toString();
            if (/GRÜSSE/.test(text)) resolve();
          });
          child.stdout!.on('end', () => reject(new Error(`attach ended with ${JSON.stringify(text)}`)));
        });
        child.stdin!.write('grüße\n');
        await heard;
      } finally {
        child.kill('SIGKILL');
        await child.exited;
      }
    }
    await kubectl.ok(['delete', 'pod', 'listens', '--wait=false']);
  });
});

describe('from a Windows program', () => {
  test('names resolve by the system and by DNS messages', limit, async () => {
    const address = await kubectl.ok(['get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}']);
    const script = `const dns = require('dns').promises;
      (async () => {
        console.log((await dns.lookup('kubernetes.default.svc.cluster.local')).address);
        console.log((await dns.lookup('kubernetes')).address);
        console.log(await dns.resolve4('kubernetes.default.svc.cluster.local') + '');
        console.log((await dns.resolveSrv('_https._tcp.kubernetes.default.svc.cluster.local'))[0].port);
        console.log(await dns.resolve4('nobody.default.svc.cluster.local').catch(e => e.code));
      })()`;
    assert.deepEqual((await run(script)).trim().split('\n'), [address, address, address, '443', 'ENOTFOUND']);
  });

  test('UDP goes to a Linux pod by its Service and back, and the other way round', limit, async () => {
    const program = await buildNative(linuxProcesses, portholeCache(), {
      name: 'udp-echo',
      target: 'linux',
      source: fileURLToPath(new URL('./programs/udp-echo.c', import.meta.url)),
    });
    copyFileSync(program, join(cluster.home, 'udp-echo'));
    const udpService = (name: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name },
        spec: { selector: { app: name }, ports: [{ port: 5005, protocol: 'UDP' }] },
      });
    await kubectl.apply(linuxPod('udp-linux', 'exec /programs/udp-echo 5005'));
    await kubectl.apply(
      windowsPod(
        'udp-windows',
        node(
          "const s=require('dgram').createSocket('udp4');s.on('message',(m,r)=>s.send('windows:'+m,r.port,r.address));s.bind(5005)",
        ),
      ),
    );
    for (const name of ['udp-linux', 'udp-windows']) {
      await kubectl.apply(udpService(name));
      await ready(name);
    }
    const ask = `const s = require('dgram').createSocket('udp4');
      const ask = () => s.send('hello\\n', 5005, 'udp-linux');
      s.on('message', m => { process.stdout.write(m); process.exit(0) });
      setInterval(ask, 300); ask(); setTimeout(() => process.exit(1), 10000)`;
    assert.equal(await run(ask), 'linux:hello\n');
    assert.equal(
      await kubectl.ok(['exec', 'udp-linux', '--', '/programs/udp-echo', 'udp-windows', '5005', 'hello']),
      'windows:hello\n',
    );
  });

  test(
    'the world sees the machine, the cluster sees the pod: outbound NAT and its exceptions',
    limit,
    async () => {
      const script =
        "mkdir -p /www/cgi-bin; printf '#!/bin/sh\\necho; echo $REMOTE_ADDR\\n' > /www/cgi-bin/who; chmod 755 /www/cgi-bin/who; exec httpd -f -h /www";
      await kubectl.apply(linuxPod('who', script));
      await ready('who');
      const get = (url: string): string =>
        `fetch('${url}').then(r => r.text()).then(t => console.log(t.trim()), e => { console.error(e); process.exit(1) })`;
      const of = (name: string, field: string): Promise<string> =>
        kubectl.ok(['get', 'pod', name, '-o', `jsonpath={.status.${field}}`]);
      const pod = await of('tools', 'podIP');
      const inside = `http://${await of('who', 'podIP')}/cgi-bin/who`;
      await eventually(async () =>
        assert.equal((await run(get(inside))).trim().replace(/[[\]]|::ffff:/g, ''), pod),
      );
      // The node hides the pod, and the machine hides the node, which is a namespace of it.
      await withWorld(async (url) => assert.equal((await run(get(url))).trim(), worldsNeighbour));
    },
  );

  test('the API answers to its service account’s token', limit, async () => {
    await kubectl.ok([
      'create',
      'rolebinding',
      'tools-view',
      '--clusterrole=view',
      '--serviceaccount=default:default',
    ]);
    const script = `const fs = require('fs');
      const folder = 'C:\\\\var\\\\run\\\\secrets\\\\kubernetes.io\\\\serviceaccount\\\\';
      const headers = { authorization: 'Bearer ' + fs.readFileSync(folder + 'token') };
      const ca = fs.readFileSync(folder + 'ca.crt');
      require('https').get('https://kubernetes.default.svc/api/v1/namespaces/default/pods/tools', { ca, headers }, r => {
        let text = '';
        r.on('data', d => text += d);
        r.on('end', () => console.log(r.statusCode, JSON.parse(text).spec?.nodeName));
      }).on('error', e => console.log(e.message))`;
    await eventually(async () => assert.equal(await run(script), '200 windows-1\n'));
  });
});

describe('a cluster whose every process was killed', () => {
  /** Processes of the box whose command line says so; the tests' own are not among them. */
  const running = (what: RegExp): readonly { readonly pid: number; readonly command: string }[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return what.test(command) && !command.includes('--test') ? [{ pid: Number(name), command }] : [];
        } catch {
          return []; // ended meanwhile
        }
      });

  test('is taken down: no program, mount, namespace, link or cgroup of it is left', limit, async () => {
    const killed = running(/porthole\.mjs|containerd/);
    assert.ok(killed.length > 6, 'server, agents, containerds and shims');
    for (const { pid } of killed) process.kill(pid, 'SIGKILL');
    const down = await cluster.porthole(['down', '--name', cluster.name]);
    assert.equal(down.code, 0, down.stderr);
    isDown = true;
    assert.deepEqual(running(/porthole\.mjs|containerd|catatonit|wine|pinit|node\.exe|\/pause/), []);
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    assert.deepEqual(
      mounts.filter((line) => line.includes(cluster.home)),
      [],
    );
    assert.deepEqual(readdirSync('/run/netns'), []);
    const links = await linuxProcesses.run('ip', ['-o', 'link', 'show']);
    assert.match(links.stdout.toString(), /^1: lo: [^\n]*\n$/);
    const groups = ['linux-1', 'windows-1'].flatMap((name) => {
      const { cgroupRoot } = nodeLayout(clusterPaths(cluster.home, cluster.name).node(name));
      return ['', ...readdirSync('/sys/fs/cgroup')].map((one) => join('/sys/fs/cgroup', one, cgroupRoot));
    });
    assert.deepEqual(
      groups.filter((path) => existsSync(path)),
      [],
    );
  });
});
