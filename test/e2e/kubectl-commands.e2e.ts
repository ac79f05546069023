// The real kubectl, new and old, against a server without nodes: every command group that asks only the API.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCertificateRequest } from '../../src/crypto/certificate-requests.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { Child } from '../../src/os/processes.ts';
import { eventually } from '../harness/eventually.ts';
import { type Kubectl, kubectlFor } from '../harness/kubectl.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('kubectl');
const program = fileURLToPath(new URL('../../src/cmd/main.ts', import.meta.url));
const kubeconfig = join(scratch.path, 'admin.kubeconfig');
let server: Child;
let k: Kubectl;
let old: Kubectl;

before(async () => {
  server = linuxProcesses.spawn(process.execPath, [
    program,
    'server',
    ...['--data-dir', scratch.path, '--secure-port', '0', '--bind-address', '127.0.0.1'],
    ...['--feature-gates', 'StorageVersionMigrator=true', '--runtime-config', 'api/beta=true'],
  ]);
  server.stdout?.resume();
  server.stderr?.resume();
  await eventually(() => assert.ok(existsSync(kubeconfig)), { everyMs: 50 });
  k = await kubectlFor(kubeconfig);
  old = await kubectlFor(kubeconfig, '1.20');
  await eventually(async () => assert.equal((await k.run(['get', '--raw', '/readyz'])).stdout, 'ok'));
});
after(async () => {
  server.kill('SIGTERM');
  await server.exited;
  scratch.remove();
});

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.company.com}
spec:
  group: company.com
  scope: Namespaced
  names: {plural: foos, kind: Foo, shortNames: [fo]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        description: A Foo.
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, description: How large., maximum: 9}}}
`;
const foo = (size: number): string =>
  `{apiVersion: company.com/v1, kind: Foo, metadata: {name: f}, spec: {size: ${size}}}`;
const deployment = (replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: c, image: nginx}]}
`;

describe('kubectl', () => {
  it('creates one of each kind that it has a generator for', async () => {
    const made: readonly (readonly string[])[] = [
      ['deployment', 'd', '--image=nginx', '--port=80'],
      ['service', 'clusterip', 's1', '--tcp=80:8080'],
      ['service', 'nodeport', 's2', '--tcp=80', '--node-port=30123'],
      ['service', 'loadbalancer', 's3', '--tcp=80'],
      ['service', 'externalname', 's4', '--external-name=example.com'],
      ['job', 'j', '--image=busybox', '--', 'date'],
      ['cronjob', 'c', '--image=busybox', '--schedule=*/1 * * * *', '--', 'date'],
      ['job', 'j2', '--from=cronjob/c'],
      ['ingress', 'i', '--rule=example.com/a=svc:8080,tls=secret'],
      ['poddisruptionbudget', 'p', '--selector=a=b', '--min-available=50%'],
      ['priorityclass', 'pc', '--value=10', '--description=x'],
      ['quota', 'q', '--hard=count/configmaps=50'],
      ['role', 'r', '--verb=get', '--resource=pods,deployments.apps/scale'],
      ['rolebinding', 'rb', '--role=r', '--user=u', '--group=g', '--serviceaccount=default:default'],
      ['clusterrole', 'cr', '--verb=get', '--non-resource-url=/logs/*'],
      ['clusterrole', 'agg', '--aggregation-rule=a=b'],
      ['clusterrolebinding', 'crb', '--clusterrole=cr', '--user=u'],
      ['serviceaccount', 'sa'],
      ['secret', 'generic', 'sec', '--from-literal=a=b'],
      ['secret', 'docker-registry', 'dr', '--docker-username=u', '--docker-password=p'],
      ['configmap', 'cm', '--from-literal=a=b'],
      ['namespace', 'made'],
    ];
    for (const args of made) await k.ok(['create', ...args]);
    const token = await k.ok(['create', 'token', 'sa']);
    assert.equal(token.trim().split('.').length, 3);
    const described = await k.ok(['describe', 'all,ing,pdb,quota,role,rolebinding,secret,configmap,sa']);
    assert.match(described, /Name:\s+i\n/);
  });

  it('refuses what is wrong in the words of the API', async () => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['create', 'priorityclass', 'system-x', '--value=1'], /system-x is not a known system priority class/],
      [
        ['create', 'quota', 'x', '--hard=cpu=1', '--scopes=BestEffort'],
        /unsupported scope applied to resource/,
      ],
      [['create', 'namespace', 'Bad_Name'], /a lowercase RFC 1123 label must consist of/],
      [['delete', 'namespace', 'default'], /this namespace may not be deleted/],
      [['get', 'pods', '--field-selector=foo=bar'], /field label not supported: foo/],
      [['get', 'pods', '--as=bob'], /User "bob" cannot list resource "pods" in API group ""/],
      [['patch', 'cm', 'cm', '-p', '{"data":{"a":1}}'], /^The request is invalid: patch: Invalid value: /],
    ];
    for (const [args, text] of cases) {
      const { code, stderr } = await k.run(args);
      assert.equal(code, 1, args.join(' '));
      assert.match(stderr, text);
    }
    const strict = await k.run(['create', '-f', '-'], {
      input: '{apiVersion: v1, kind: ConfigMap, metadata: {name: x, foo: y}, datta: {}}',
    });
    assert.match(strict.stderr, /strict decoding error: unknown field "datta", unknown field "metadata.foo"/);
  });

  it('applies, compares, prunes and replaces', async () => {
    assert.match(await k.apply(deployment(2)), /created/);
    assert.match(await k.apply(deployment(2)), /unchanged/);
    const diff = await k.run(['diff', '-f', '-'], { input: deployment(3) });
    assert.equal(diff.code, 1);
    assert.match(diff.stdout, /- {2}replicas: 2\n\+ {2}replicas: 3/);
    assert.match(await k.apply(deployment(3)), /configured/);
    await k.ok(['apply', '--server-side', '-f', '-'], { input: deployment(3) });
    const other = ['apply', '--server-side', '--field-manager=other', '-f', '-'];
    const conflict = await k.run(other, { input: deployment(4) });
    assert.match(conflict.stderr, /conflict.* with "kubectl".*\n?.*\.spec\.replicas/);
    await k.ok([...other, '--force-conflicts'], { input: deployment(4) });
    await k.ok(['replace', '--force', '-f', '-'], { input: deployment(1) });
    const pruned = await k.ok(['apply', '--prune', '-l', 'app=app', '-f', '-'], {
      input: '{apiVersion: v1, kind: ConfigMap, metadata: {name: only, labels: {app: app}}}',
    });
    assert.match(pruned, /configmap\/only created/);
  });

  it('goes from client-side to server-side apply and compares on the server, without conflicts with itself', async () => {
    const map = (value: string): string =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}, data: {a: "${value}"}}`;
    assert.match(await k.apply(map('1')), /created/);
    const diff = await k.run(['diff', '--server-side', '-f', '-'], { input: map('2') });
    assert.equal(diff.code, 1, diff.stderr);
    assert.match(diff.stdout, /- {2}a: "1"\n\+ {2}a: "2"/);
    await k.ok(['apply', '--server-side', '-f', '-'], { input: map('2') });
    const managers = await k.ok([
      'get',
      'cm/moved',
      '--show-managed-fields',
      '-o',
      'jsonpath={.metadata.managedFields[*].manager}',
    ]);
    // As kubectl moves it: the annotation has a manager of its own. An entry that changed nothing has no time, and comes first.
    assert.deepEqual(managers.split(' ').sort(), ['kubectl', 'kubectl-last-applied']);
    const lastApplied = await k.ok(['apply', 'view-last-applied', 'cm/moved', '-o', 'json']);
    assert.match(lastApplied, /"a": "2"/);
    await k.ok(['apply', '--server-side', '-f', '-'], { input: map('3') });
    assert.match(await k.apply(map('4')), /configured/);
    await k.ok(['delete', 'cm/moved']);
  });

  it('a definition whose bounds have nineteen digits is created and kept', async () => {
    const manifest = crd
      .replaceAll('foos', 'longs')
      .replace('kind: Foo, shortNames: [fo]', 'kind: Long')
      .replace('maximum: 9', 'maximum: 9223372036854775000');
    await k.ok(['create', '-f', '-'], { input: manifest });
    const stored = await k.ok([
      'get',
      '--raw',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/longs.company.com',
    ]);
    assert.match(stored, /"maximum":9223372036854775000[,}]/);
    await k.ok(['delete', 'crd/longs.company.com']);
  });

  it('changes workloads: image, environment, scale, rollouts, labels, exposure', async () => {
    const steps: readonly (readonly string[])[] = [
      ['set', 'image', 'deploy/d', 'nginx=nginx:2'],
      ['set', 'env', 'deploy/d', 'A=b'],
      ['set', 'resources', 'deploy/d', '--limits=cpu=200m'],
      ['set', 'serviceaccount', 'deploy/d', 'sa'],
      ['set', 'subject', 'rolebinding', 'rb', '--user=v'],
      ['scale', 'deploy/d', '--replicas=2'],
      ['autoscale', 'deploy/d', '--max=3', '--cpu=50%'],
      ['rollout', 'pause', 'deploy/d'],
      ['rollout', 'resume', 'deploy/d'],
      ['rollout', 'restart', 'deploy/d'],
      ['label', 'deploy/d', 'x=y'],
      ['annotate', 'deploy/d', 'x=y'],
      ['expose', 'deploy/d', '--name=e', '--port=80'],
      ['patch', 'deploy/d', '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":1}}'],
    ];
    for (const args of steps) await k.ok(args);
    await eventually(async () => assert.match(await k.ok(['rollout', 'history', 'deploy/d']), /\n4\s/));
    await k.ok(['rollout', 'undo', 'deploy/d', '--to-revision=1']);
    await k.ok(['wait', '--for=jsonpath={.spec.replicas}=1', 'deploy/d', '--timeout=10s']);
    assert.match((await k.run(['label', 'deploy/d', 'x=z'])).stderr, /--overwrite is false/);
    await k.ok(['delete', 'deploy/d', '--cascade=foreground', '--timeout=30s']);
  });

  it('prints and explains in every form', async () => {
    assert.match(await k.ok(['get', 'cm', 'cm', '-o', 'jsonpath={.data.a}']), /^b$/);
    assert.match(await k.ok(['get', 'svc', '-o', 'custom-columns=N:.metadata.name', '--no-headers']), /^e\n/);
    assert.match(await k.ok(['get', 'secrets', '-A', '--sort-by=.metadata.name', '-o', 'wide']), /NAMESPACE/);
    assert.match(await k.ok(['get', 'cs']), /controller-manager\s+Healthy\s+ok/);
    assert.match(
      await k.ok(['explain', 'pod.spec.containers.ports']),
      /containerPort\s+<integer> -required-/,
    );
    assert.match(await k.ok(['explain', 'deploy', '--output=plaintext-openapiv2']), /KIND:\s+Deployment/);
    assert.match(await k.ok(['auth', 'whoami']), /kubernetes-admin/);
    assert.match(await k.ok(['auth', 'can-i', '--list']), /\*\.\*/);
    assert.match(await k.ok(['cluster-info']), /is running at/);
    const version = await k.json<{ serverVersion: Record<string, string> }>(['version']);
    assert.ok(Object.values(version.serverVersion).filter((value) => value !== '').length >= 7);
  });

  it('says what kinds and fields are for, by v3, by v2 and in its 1.20 form', async () => {
    const said = async (one: Kubectl, ...args: readonly string[]): Promise<string> =>
      (await one.ok(['explain', ...args])).replaceAll(/\s+/g, ' ');
    const probe = await said(k, 'pod.spec.containers.livenessProbe');
    assert.match(probe, /DESCRIPTION: Asked regularly while the container runs; when it fails too often/);
    assert.match(probe, /periodSeconds <integer> Seconds between two questions\. At least 1, default 10\./);
    assert.match(await said(k, 'hpa.spec'), /minReplicas <integer> The fewest pods\. Default 1\./);
    assert.match(await said(k, 'pods'), /DESCRIPTION: One or more containers that run together on one node/);
    for (const form of [[k, '--output=plaintext-openapiv2'], [old]] as const) {
      const [one, ...flags] = form;
      assert.match(
        await said(one, 'pdb', ...flags),
        /DESCRIPTION: How many pods of a kind may be away at once/,
      );
      assert.match(await said(one, 'svc.spec.type', ...flags), /DESCRIPTION: How it is reached: ClusterIP/);
    }
  });

  it('knows who asked for a certificate, and approves and denies', async () => {
    const { requestPem } = await createCertificateRequest({
      commonName: 'somebody',
      organizations: ['people'],
    });
    const csr = Buffer.from(requestPem).toString('base64');
    await k.apply(`
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: csr}
spec: {request: ${csr}, signerName: example.com/signer, usages: [client auth], username: somebody-else}
`);
    const user = ['get', 'csr', 'csr', '-o', 'jsonpath={.spec.username}'];
    assert.equal(await k.ok(user), 'kubernetes-admin');
    await k.ok(['certificate', 'approve', 'csr']);
    assert.match(await k.ok(['get', 'csr']), /csr .* kubernetes-admin .* Approved/);
    assert.match((await k.run(['certificate', 'deny', 'csr'])).stderr, /already Approved/);
  });

  it('works with custom resources as with any other', async () => {
    await k.apply(crd);
    await k.ok(['wait', '--for=condition=Established', 'crd/foos.company.com', '--timeout=10s']);
    assert.match(await k.apply(foo(1)), /created/);
    assert.match(await k.apply(foo(2)), /configured/);
    assert.match(await k.ok(['get', 'fo']), /NAME\s+SIZE\nf\s+2/);
    assert.match(await k.ok(['explain', 'foo.spec']), /How large\./);
    assert.match(await k.ok(['explain', 'foo.metadata.finalizers']), /Each takes its own away/);
    const wrong = await k.run(['patch', 'foo', 'f', '--type=merge', '-p', '{"spec":{"size":10}}']);
    assert.match(wrong.stderr, /spec.size in body should be less than or equal to 9/);
    await k.ok(['delete', 'crd', 'foos.company.com', '--timeout=10s']);
    assert.equal((await k.run(['get', 'foos'])).code, 1);
  });

  it('migrates what is stored in an old version, and waits for it', async () => {
    await k.apply(crd);
    await k.ok(['wait', '--for=condition=Established', 'crd/foos.company.com', '--timeout=10s']);
    await eventually(async () => void (await k.apply(foo(1))));
    const version = { served: true, schema: { openAPIV3Schema: { type: 'object' } } };
    const versions = [
      { ...version, name: 'v1', storage: false },
      { ...version, name: 'v2', storage: true },
    ];
    await k.ok([
      'patch',
      'crd',
      'foos.company.com',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { versions } }),
    ]);
    const stored = ['get', 'crd', 'foos.company.com', '-o', 'jsonpath={.status.storedVersions}'];
    assert.equal(await k.ok(stored), '["v1","v2"]');
    await k.apply(
      '{apiVersion: storagemigration.k8s.io/v1beta1, kind: StorageVersionMigration, metadata: {name: foos}, spec: {resource: {group: company.com, resource: foos}}}',
    );
    await k.ok(['wait', '--for=condition=Succeeded', 'storageversionmigration/foos', '--timeout=30s']);
    assert.match(
      await k.ok(['get', 'storageversionmigrations']),
      /^NAME\s+RESOURCE\nfoos\s+foos\.company\.com\n$/,
    );
    await eventually(async () => assert.equal(await k.ok(stored), '["v2"]'));
    assert.match(await k.ok(['explain', 'storageversionmigration.spec.resource.group']), /Its API group\./);
    await k.ok(['delete', 'storageversionmigration', 'foos']);
    await k.ok(['delete', 'crd', 'foos.company.com', '--timeout=10s']);
  });

  it('is understood in its 1.20 form too', async () => {
    for (const args of [
      ['version'],
      ['api-resources'],
      ['get', 'all', '-A'],
      ['describe', 'namespace', 'default'],
      ['create', 'job', 'oldjob', '--image=x'],
      ['scale', 'deploy', '--all', '--replicas=1'],
      ['delete', 'job', 'oldjob'],
    ])
      await old.ok(args);
  });

  it('ends a namespace with all that is in it', async () => {
    await k.ok(['create', 'configmap', 'x', '-n', 'made']);
    await k.ok(['delete', 'namespace', 'made', '--timeout=30s']);
    assert.match((await k.run(['get', 'namespace', 'made'])).stderr, /not found/);
  });
});
