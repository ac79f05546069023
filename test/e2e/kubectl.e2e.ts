// What people type: kubectl's other commands against a cluster with a real node, down to the words they print.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  busybox,
  limit,
  podManifest,
  serve,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
const scratch = scratchDirectory('kubectl');
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  await kubectl.apply(podManifest('web', { command: serve('hello') }));
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/web', '--timeout=60s']);
}, limit);
after(async () => {
  scratch.remove();
  await cluster?.down();
}, limit);

const configMap = (data: Record<string, string>): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data });
const dataOf = async (name: string): Promise<Record<string, string>> =>
  (await kubectl.json<{ data?: Record<string, string> }>(['get', 'configmap', name])).data ?? {};
/** The run must fail with this on standard error. */
const refused = async (args: readonly string[], said: RegExp, input?: string): Promise<void> => {
  const { code, stderr } = await kubectl.run(args, input === undefined ? {} : { input });
  assert.notEqual(code, 0, `kubectl ${args.join(' ')}`);
  assert.match(stderr, said);
};

describe('kubectl asks', () => {
  test('describe: pods with their events, nodes with what runs there', limit, async () => {
    const pod = await kubectl.ok(['describe', 'pod', 'web']);
    for (const line of [/^Node: +linux-1\/172\./m, /^ +State: +Running$/m, /^QoS Class: +BestEffort$/m])
      assert.match(pod, line);
    assert.match(
      pod,
      /Scheduled .* Successfully assigned default\/web to linux-1\n.* Pulled .*\n.* Created .*\n.* Started /,
    );
    const node = await kubectl.ok(['describe', 'node', 'linux-1']);
    assert.match(node, /Ready +True .* KubeletReady +kubelet is posting ready status/);
    assert.match(node, /default +web +0 \(0%\)/);
    for (const what of ['namespace default', 'service kubernetes', 'endpointslices', 'clusterrole admin'])
      assert.match(await kubectl.ok(['describe', ...what.split(' ')]), /^Name: /);
  });

  test('events, of the cluster and of one object', limit, async () => {
    assert.match(
      await kubectl.ok(['events', '--for', 'pod/web']),
      /Normal +Started +Pod\/web +Container started/,
    );
    assert.match(await kubectl.ok(['get', 'events', '--sort-by=.lastTimestamp']), /pod\/web/);
  });

  test('get: tables, names, columns, paths, templates, selectors, several kinds', limit, async () => {
    assert.match(
      await kubectl.ok(['get', 'pods']),
      /^NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running +0 +\d+s\n$/,
    );
    assert.match(
      await kubectl.ok(['get', 'pods', '-o', 'wide']),
      / 10\.\d+\.\d+\.\d+ +linux-1 +<none> +<none>\n$/,
    );
    assert.match(await kubectl.ok(['get', 'pods', '--show-labels']), / app=web\n$/);
    assert.equal(await kubectl.ok(['get', 'pods,svc', '-o', 'name']), 'pod/web\nservice/kubernetes\n');
    assert.match(
      await kubectl.ok([
        'get',
        'pods',
        '-A',
        '-o',
        'custom-columns=N:.metadata.name,I:.spec.containers[*].image',
      ]),
      /^N +I\nweb +porthole\.local/,
    );
    assert.equal(
      await kubectl.ok(['get', 'pods', '-o', 'go-template={{range .items}}{{.metadata.name}}{{end}}']),
      'web',
    );
    assert.equal(await kubectl.ok(['get', 'pods', '-l', 'app in (web,x),!y', '-o', 'name']), 'pod/web\n');
    assert.equal(
      await kubectl.ok(['get', 'pods', '--field-selector', 'status.phase!=Running', '-o', 'name']),
      '',
    );
    assert.equal(
      await kubectl.ok(['get', 'pod', 'web', '--subresource=status', '-o', 'jsonpath={.status.phase}']),
      'Running',
    );
    await refused(['get', 'pod', 'nope'], /^Error from server \(NotFound\): pods "nope" not found\n$/);
    await refused(['get', 'nope'], /^error: the server doesn't have a resource type "nope"\n$/);
    const old = cluster.oldKubectl;
    assert.match(await old.ok(['get', 'pods']), /^NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running/);
    assert.match(await old.ok(['describe', 'pod', 'web']), /Node: +linux-1/);
  });

  test('get -w shows a pod from its start to its end', limit, async () => {
    for (const tool of [kubectl, cluster.oldKubectl]) {
      const child = linuxProcesses.spawn(tool.path, ['get', 'pods', '-w', '-l', 'app=brief'], {
        env: tool.env,
      });
      try {
        let seen = '';
        child.stdout!.on('data', (data: Buffer) => {
          seen += data.toString();
        });
        await kubectl.apply(podManifest('brief', { command: ['true'] }, { restartPolicy: 'Never' }));
        await eventually(() => assert.match(seen, /brief +0\/1 +ContainerCreating.*brief +0\/1 +Completed/s));
        await kubectl.ok(['delete', 'pod', 'brief']);
        const events = await kubectl.ok(['get', 'pods', '-l', 'app=brief', '-o', 'name']);
        assert.equal(events, '');
      } finally {
        child.kill('SIGINT');
        await child.exited;
      }
    }
  });

  test('explain, api-resources, api-versions, version, cluster-info', limit, async () => {
    const explained = await kubectl.ok(['explain', 'pod.spec.containers.livenessProbe']);
    assert.match(explained, /^KIND: +Pod\nVERSION: +v1\n\nFIELD: livenessProbe <Probe>/);
    assert.match(explained, /\n {2}periodSeconds\t<integer>/);
    assert.match(await kubectl.ok(['explain', 'deployment.spec.strategy', '--recursive']), /maxSurge/);
    const resources = await kubectl.ok(['api-resources', '--sort-by=name']);
    assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
    assert.match(
      await kubectl.ok(['api-resources', '--api-group=batch', '-o', 'name']),
      /^cronjobs.batch\njobs.batch\n$/,
    );
    assert.match(await kubectl.ok(['api-versions']), /^apps\/v1$/m);
    assert.match(await kubectl.ok(['version']), /^Server Version: v1\.36\./m);
    assert.match(await kubectl.ok(['cluster-info']), /control plane is running at/);
  });

  test('top: what nodes, pods and containers use, at the first try', limit, async () => {
    assert.match(
      await kubectl.ok(['top', 'nodes']),
      /^NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\) *\nlinux-1 +\d+m +\d+% +\d+Mi +\d+% *\n$/,
    );
    await kubectl.ok(['top', 'node', 'linux-1']);
    assert.match(await kubectl.ok(['top', 'pods']), /^NAME .*\nweb +\d+m +\d+Mi *$/m);
    assert.match(
      await kubectl.ok(['top', 'pod', '-l', 'app=web', '--containers']),
      /^POD +NAME .*\nweb +main +\d+m +\d+Mi *\n$/,
    );
    assert.match(
      await kubectl.ok(['get', 'nodes.metrics.k8s.io']),
      /^NAME +CPU +MEMORY +WINDOW *\nlinux-1 +\d+[num]? +\d+Ki +\S+s *\n$/,
    );
    await refused(['top', 'pod', 'none'], /pods "none" not found/);
    await refused(
      ['get', 'pods.metrics.k8s.io', '--watch-only', '--request-timeout=20s'],
      /watch is not supported on resources of kind|the server does not allow this method/,
    );
  });

  test('auth and tokens', limit, async () => {
    assert.equal(await kubectl.ok(['auth', 'can-i', 'delete', 'nodes']), 'yes\n');
    const account = 'system:serviceaccount:default:robot';
    const asRobot = (...args: string[]): ReturnType<Kubectl['run']> =>
      kubectl.run(['auth', 'can-i', ...args, `--as=${account}`]);
    assert.equal((await asRobot('list', 'pods')).stdout, 'no\n');
    await kubectl.ok(['create', 'serviceaccount', 'robot']);
    await kubectl.ok([
      'create',
      'rolebinding',
      'robot',
      '--clusterrole=view',
      '--serviceaccount=default:robot',
    ]);
    await eventually(async () => assert.equal((await asRobot('list', 'pods')).stdout, 'yes\n'));
    assert.equal((await asRobot('delete', 'pods')).stdout, 'no\n');
    const token = (await kubectl.ok(['create', 'token', 'robot', '--duration=20m'])).trim();
    const server = await kubectl.ok([
      'config',
      'view',
      '--minify',
      '-o',
      'jsonpath={.clusters[0].cluster.server}',
    ]);
    const withToken = (given: string, ...args: string[]): ReturnType<Kubectl['run']> =>
      kubectl.run([
        '--kubeconfig=/dev/null',
        `--server=${server}`,
        '--insecure-skip-tls-verify',
        `--token=${given}`,
        ...args,
      ]);
    assert.match(
      (await withToken(token, 'auth', 'whoami')).stdout,
      /Username +system:serviceaccount:default:robot\n/,
    );
    assert.equal((await withToken(token, 'get', 'pods', '-o', 'name')).stdout, 'pod/web\n');
    assert.match(
      (await withToken(token, 'delete', 'pod', 'web')).stderr,
      /^Error from server \(Forbidden\): pods "web" is forbidden: User "system:serviceaccount:default:robot" cannot delete resource "pods" in API group "" in the namespace "default"\n$/,
    );
    assert.match(
      (await withToken(`${token.slice(0, -4)}AAAA`, 'get', 'pods')).stderr,
      /You must be logged in to the server/,
    );
  });
});

describe('kubectl changes', () => {
  test('apply, diff, replace and delete', limit, async () => {
    const file = join(scratch.path, 'settings.json');
    writeFileSync(file, configMap({ a: '1', b: '1' }));
    assert.equal(await kubectl.ok(['apply', '-f', file]), 'configmap/settings created\n');
    assert.equal(await kubectl.ok(['apply', '-f', file]), 'configmap/settings unchanged\n');
    assert.equal((await kubectl.run(['diff', '-f', file])).code, 0);
    writeFileSync(file, configMap({ a: '2' }));
    const difference = await kubectl.run(['diff', '-f', file]);
    assert.equal(difference.code, 1);
    assert.match(difference.stdout, /^- {2}a: "1"\n- {2}b: "1"\n\+ {2}a: "2"$/m);
    assert.equal(
      await kubectl.ok(['apply', '-f', file, '--dry-run=server']),
      'configmap/settings configured (server dry run)\n',
    );
    assert.deepEqual(await dataOf('settings'), { a: '1', b: '1' });
    assert.equal(await kubectl.ok(['apply', '-f', file]), 'configmap/settings configured\n');
    assert.deepEqual(await dataOf('settings'), { a: '2' });
    await refused(['create', '-f', file], /\(AlreadyExists\): .*configmaps "settings" already exists/);
    assert.match(
      await kubectl.ok(['replace', '--force', '-f', file]),
      /settings" deleted.*\nconfigmap\/settings replaced\n/,
    );
    await kubectl.ok(['delete', '-f', file]);
    await refused(['delete', '-f', file], /configmaps "settings" not found/);
  });

  test('apply --server-side: each manager owns its fields', limit, async () => {
    const apply = (data: Record<string, string>, ...args: string[]): ReturnType<Kubectl['run']> =>
      kubectl.run(['apply', '--server-side', '-f', '-', ...args], { input: configMap(data) });
    assert.equal((await apply({ a: '1', b: '1' })).stdout, 'configmap/settings serverside-applied\n');
    assert.equal((await apply({ c: '1' }, '--field-manager=other')).code, 0);
    const conflict = await apply({ a: '2' }, '--field-manager=other');
    assert.match(
      conflict.stderr,
      /^error: Apply failed with 1 conflict: conflict with "kubectl": \.data\.a\n/,
    );
    assert.equal((await apply({ a: '2' }, '--field-manager=other', '--force-conflicts')).code, 0);
    assert.equal((await apply({ b: '2' })).code, 0);
    assert.deepEqual(await dataOf('settings'), { a: '2', b: '2' });
    await kubectl.ok(['delete', 'configmap', 'settings']);
  });

  test('label, annotate and patch in every form', limit, async () => {
    await kubectl.apply(configMap({ a: '1', b: '1' }));
    const change = (...args: string[]): Promise<string> =>
      kubectl.ok([args[0]!, 'configmap', 'settings', ...args.slice(1)]);
    assert.equal(await change('label', 'x=1'), 'configmap/settings labeled\n');
    await refused(
      ['label', 'configmap', 'settings', 'x=2'],
      /'x' already has a value \(1\), and --overwrite is false/,
    );
    await change('label', 'x=2', '--overwrite');
    assert.equal(await change('label', 'x-'), 'configmap/settings unlabeled\n');
    await refused(
      ['label', 'configmap', 'settings', 'bad_/key=1'],
      /metadata.labels: Invalid value: "bad_\/key": prefix part a lowercase RFC 1123 subdomain/,
    );
    assert.equal(await change('annotate', 'note=a b'), 'configmap/settings annotated\n');
    await change('patch', '-p', '{"data":{"a":null,"c":"1"}}');
    await change('patch', '--type=merge', '-p', '{"data":{"d":"1"}}');
    await change('patch', '--type=json', '-p', '[{"op":"move","from":"/data/b","path":"/data/e"}]');
    assert.deepEqual(await dataOf('settings'), { c: '1', d: '1', e: '1' });
    await refused(
      ['patch', 'configmap', 'settings', '--type=json', '-p', '[{"op":"test","path":"/data/c","value":"9"}]'],
      /The request is invalid: the server rejected our request due to an error in our request/,
    );
    await refused(['patch', 'configmap', 'settings', '-p', '{"data":{"c":1}}'], /cannot|invalid|unmarshal/i);
    await kubectl.ok(['create', 'deployment', 'idle', `--image=${busybox}`, '--replicas=0']);
    await kubectl.ok([
      'patch',
      'deployment',
      'idle',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"busybox","env":[{"name":"A","value":"1"}]}]}}}}',
    ]);
    await kubectl.ok([
      'patch',
      'deployment',
      'idle',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"busybox","env":[{"name":"B","value":"2"}]}]}}}}',
    ]);
    const template = '.spec.template.spec.containers[0]';
    assert.equal(
      await kubectl.ok([
        'get',
        'deployment',
        'idle',
        '-o',
        `jsonpath={${template}.image} {${template}.env[*].name}`,
      ]),
      `${busybox} B A`,
    );
    await kubectl.ok([
      'patch',
      'deployment',
      'idle',
      '--subresource=scale',
      '--type=merge',
      '-p',
      '{"spec":{"replicas":1}}',
    ]);
    assert.equal(await kubectl.ok(['get', 'deployment', 'idle', '-o', 'jsonpath={.spec.replicas}']), '1');
    await kubectl.ok(['delete', 'deployment/idle', 'configmap/settings']);
  });

  test('what is wrong is refused in words that help', limit, async () => {
    await refused(
      ['create', 'configmap', 'Bad'],
      /ConfigMap "Bad" is invalid: metadata.name: Invalid value: "Bad": a lowercase RFC 1123 subdomain/,
    );
    await refused(
      ['apply', '-f', '-'],
      /strict decoding error: unknown field "spec.containers\[0\].imagee"/,
      podManifest('typo', { imagee: 'x' }),
    );
    await refused(
      ['apply', '-f', '-'],
      /spec.containers\[0\].image: Required value/,
      podManifest('none', { image: '' }),
    );
    await refused(
      ['patch', 'pod', 'web', '-p', '{"spec":{"nodeName":"other"}}'],
      /Forbidden: pod updates may not change fields other than/,
    );
    await refused(
      ['delete', 'namespace', 'default'],
      /namespaces "default" is forbidden: this namespace may not be deleted/,
    );
    await refused(
      ['create', 'deployment', 'x', '--image=y', '-n', 'nowhere'],
      /namespaces "nowhere" not found/,
    );
  });
});

describe('kubectl runs', () => {
  test('run --rm -i: a pod for the time of one command', limit, async () => {
    const { code, stdout } = await kubectl.run(
      [
        'run',
        '--rm',
        '-i',
        '--restart=Never',
        '--quiet',
        'once',
        `--image=${busybox}`,
        '--',
        'sh',
        '-c',
        'read line; echo "got $line"',
      ],
      { input: 'ping\n' },
    );
    assert.deepEqual([code, stdout.split('\n')[0]], [0, 'got ping']);
    await refused(['get', 'pod', 'once'], /NotFound/);
    const failed = await kubectl.run([
      'run',
      '--rm',
      '-i',
      '--restart=Never',
      '--quiet',
      'fails',
      `--image=${busybox}`,
      '--',
      'sh',
      '-c',
      'sleep 0.5; exit 5',
    ]);
    assert.equal(failed.code, 5, failed.stderr);
  });

  test('wait: for conditions, paths and the end', limit, async () => {
    await kubectl.apply(podManifest('waited', { command: untilTerm }));
    await kubectl.ok(['wait', 'pod/waited', '--for=jsonpath={.status.phase}=Running', '--timeout=30s']);
    await refused(
      ['wait', 'pod/waited', '--for=condition=Nonsense', '--timeout=1s'],
      /timed out waiting for the condition on pods\/waited/,
    );
    const gone = kubectl.ok(['wait', 'pod/waited', '--for=delete', '--timeout=30s']);
    await kubectl.ok(['delete', 'pod', 'waited', '--wait=false']);
    await gone;
  });

  test('debug: an ephemeral container in a running pod', limit, async () => {
    await kubectl.ok([
      'debug',
      'web',
      '-c',
      'look',
      `--image=${busybox}`,
      '--target=main',
      '--',
      'sh',
      '-c',
      'wget -qO- http://127.0.0.1:8080/; ps',
    ]);
    await eventually(async () => {
      const log = await kubectl.ok(['logs', 'web', '-c', 'look']);
      assert.match(log, /^hello\n/);
      assert.match(log, /httpd -f -p 8080/);
    });
    await eventually(async () =>
      assert.equal(
        await kubectl.ok([
          'get',
          'pod',
          'web',
          '-o',
          'jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.reason}',
        ]),
        'Completed',
      ),
    );
    assert.match(await kubectl.ok(['describe', 'pod', 'web']), /Ephemeral Containers:\n {2}look:/);
  });

  test('debug: a copy of a pod with another command', limit, async () => {
    await kubectl.ok([
      'debug',
      'web',
      '--copy-to=copy',
      '--container=main',
      '--',
      'sh',
      '-c',
      'echo from the copy; sleep 60',
    ]);
    await eventually(async () =>
      assert.equal(await kubectl.ok(['logs', 'copy', '-c', 'main']), 'from the copy\n'),
    );
    await kubectl.ok(['delete', 'pod', 'copy', '--now']);
  });

  test('cp: folders there and back', limit, async () => {
    const folder = join(scratch.path, 'folder');
    await linuxProcesses.run('mkdir', ['-p', join(folder, 'sub')]);
    writeFileSync(join(folder, 'sub/big'), Buffer.alloc(3_000_000, 'x'));
    await kubectl.ok(['cp', folder, 'web:/tmp/folder']);
    assert.equal(
      (await kubectl.ok(['exec', 'web', '--', 'sh', '-c', 'wc -c < /tmp/folder/sub/big'])).trim(),
      '3000000',
    );
    await kubectl.ok(['cp', 'web:/tmp/folder', join(scratch.path, 'back')]);
    const same = await linuxProcesses.run('diff', ['-r', folder, join(scratch.path, 'back')]);
    assert.equal(same.code, 0, same.stdout.toString());
  });

  test('exec: what can not be run, and where', limit, async () => {
    await refused(
      ['exec', 'web', '--', 'no-such-program'],
      /"no-such-program": executable file not found in \$PATH/,
    );
    await refused(['exec', 'web', '-c', 'nope', '--', 'true'], /container (not found|nope is not valid)/);
    await refused(['logs', 'web', '-c', 'nope'], /container nope is not valid for pod web/);
    await refused(
      ['logs', 'web', '--previous'],
      /previous terminated container "main" in pod "web" not found/,
    );
  });
});
