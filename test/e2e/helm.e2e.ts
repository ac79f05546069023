// Helm 4 takes the cluster for what it is: the chart that `helm create` makes is installed, upgraded, rolled back and removed.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureKubectl } from '../../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { busybox, limit, serve, startLinuxCluster } from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('helm');
let cluster: TestCluster;
let kubectl: Kubectl;
let helmProgram: string;
before(async () => {
  helmProgram = (await ensureKubectl(linuxProcesses, portholeCache(), () => undefined)).helm;
  mkdirSync(join(scratch.path, 'home'));
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
}, limit);
after(async () => {
  scratch.remove();
  await cluster?.down();
}, limit);

async function helm(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await linuxProcesses.run(helmProgram, args, {
    cwd: scratch.path,
    env: { HOME: join(scratch.path, 'home'), KUBECONFIG: cluster.kubeconfig },
  });
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
  return stdout.toString();
}
const values = [
  '--set=image.repository=porthole.local/sample/busybox',
  '--set=image.tag=1',
  '--set=livenessProbe.initialDelaySeconds=1',
];

describe('helm', () => {
  test('create, lint and template', limit, async () => {
    assert.match(await helm('create', 'web'), /Creating web/);
    // a chart has no value for a command (the image's own `sh` would end at once), nor for the image of its test
    const edit = (file: string, from: RegExp, to: string): void => {
      const path = join(scratch.path, 'web/templates', file);
      const text = readFileSync(path, 'utf8');
      assert.match(text, from);
      writeFileSync(
        path,
        text.replace(from, () => to),
      );
    };
    const command = JSON.stringify(serve('web', 80));
    edit(
      'deployment.yaml',
      /^ {10}imagePullPolicy:/m,
      `          command: ${command}\n          imagePullPolicy:`,
    );
    edit('tests/test-connection.yaml', /image: busybox/, `image: ${busybox}`);
    assert.match(await helm('lint', 'web', ...values), /0 chart\(s\) failed/);
    assert.match(
      await helm('template', 'web', 'web', ...values),
      /image: "porthole.local\/sample\/busybox:1"/,
    );
  });

  test('install waits until the release is ready', limit, async () => {
    const said = await helm('install', 'shop', 'web', '--wait', '--timeout=60s', ...values);
    assert.match(said, /NAME: shop\n[\s\S]*STATUS: deployed\nREVISION: 1\n/);
    assert.match(await helm('list'), /^shop\s+default\s+1\s+.*deployed\s+web-0\.1\.0/m);
    assert.match(await kubectl.ok(['get', 'deployment', 'shop-web']), /shop-web +1\/1/);
    assert.equal(
      await kubectl.ok(['get', 'secret', '-l', 'owner=helm', '-o', 'jsonpath={.items[*].type}']),
      'helm.sh/release.v1',
    );
    assert.equal(
      await kubectl.ok(['get', '--raw', '/api/v1/namespaces/default/services/shop-web:http/proxy/']),
      'web\n',
    );
  });

  test('the test hook of the chart reaches the Service by its name', limit, async () => {
    assert.match(await helm('test', 'shop', '--timeout=60s'), /Phase: +Succeeded/);
  });

  test('upgrade and rollback', limit, async () => {
    const replicas = (): Promise<string> =>
      kubectl.ok([
        'get',
        'deployment',
        'shop-web',
        '-o',
        'jsonpath={.spec.replicas} {.status.readyReplicas}',
      ]);
    await helm('upgrade', 'shop', 'web', '--wait', '--timeout=60s', '--set=replicaCount=2', ...values);
    assert.equal(await replicas(), '2 2');
    await helm('rollback', 'shop', '1', '--wait', '--timeout=60s');
    await eventually(async () => assert.equal(await replicas(), '1 1'));
    const history = await helm('history', 'shop');
    assert.match(history, /^1\s+.*superseded/m);
    assert.match(history, /^3\s+.*deployed.*Rollback to 1/m);
    assert.match(await helm('status', 'shop'), /STATUS: deployed\nREVISION: 3/);
  });

  test('uninstall leaves nothing', limit, async () => {
    assert.match(await helm('uninstall', 'shop', '--wait', '--timeout=60s'), /release "shop" uninstalled/);
    const left = await kubectl.ok([
      'get',
      'deployments,services,serviceaccounts,secrets,replicasets',
      '-l',
      'app.kubernetes.io/instance=shop',
      '-o',
      'name',
    ]);
    assert.equal(left, '');
    assert.equal(await kubectl.ok(['get', 'secret', '-l', 'owner=helm', '-o', 'name']), '');
  });

  test("metrics-server's chart takes the metrics API over, and gives it back", limit, async () => {
    const api = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io';
    const serviceOf = async (): Promise<string | undefined> => {
      const found = JSON.parse(await kubectl.ok(['get', '--raw', api])) as {
        spec: { service?: { name: string } };
      };
      return found.spec.service?.name;
    };
    const chart = join(scratch.path, 'metrics-server');
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: metrics-server\nversion: 1.0.0\n');
    const apiService = {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io', labels: { 'app.kubernetes.io/managed-by': 'Helm' } },
      spec: {
        ...{ group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
        insecureSkipTLSVerify: true,
        service: { name: 'metrics-server', namespace: 'kube-system' },
      },
    };
    writeFileSync(join(chart, 'templates/apiservice.yaml'), JSON.stringify(apiService));
    assert.equal(await serviceOf(), undefined);
    await helm('install', 'metrics-server', 'metrics-server', '-n', 'kube-system');
    assert.equal(await serviceOf(), 'metrics-server');
    await helm('uninstall', 'metrics-server', '-n', 'kube-system');
    await eventually(async () => assert.equal(await serviceOf(), undefined));
    await kubectl.ok(['top', 'nodes']);
  });
});
