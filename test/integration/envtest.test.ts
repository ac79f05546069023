// envtest's protocol, as controller-runtime's pkg/internal/testing plays it: its flags, its polls, its certificates, its signals.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { configmaps } from '../../src/api/generated/resources.ts';
import { createClient } from '../../src/client/create-client.ts';
import { readAll } from '../../src/client/transport.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { freePort } from '../../src/cmd/cluster/free-port.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { kubeconfigText } from '../../src/controlplane/kubeconfig-text.ts';
import {
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
  type KeyPairPem,
} from '../../src/crypto/certificates.ts';
import { privateKeyToPem } from '../../src/crypto/keys.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));
// The first time, kubectl is fetched.
const limit = { timeout: 400_000 };
const scratch = scratchDirectory('envtest');
const assets = join(scratch.path, "it's assets");
const etcdDir = join(scratch.path, 'etcd');
const certDir = join(scratch.path, 'certs');
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const widgets = '/apis/example.com/v1/namespaces/default/widgets';

const week = { notBefore: Date.now() - 1000, notAfter: Date.now() + 168 * 3_600_000 };
const authority = (): Promise<KeyPair> =>
  createCertificateAuthority({ commonName: 'envtest-environment', ...week });
let servingCa: KeyPair;
let clientCa: KeyPair;
let etcdUrl: string;
let securePort: number;

const user = (commonName: string, ...organizations: string[]): Promise<KeyPairPem> =>
  issueCertificate(clientCa, { commonName, organizations, usages: ['client'], ...week });

/** As process.State.Start: until the health URL answers 200, without a look at the certificate. */
async function started(name: string, args: readonly string[], health: string): Promise<ChildProcess> {
  const child = spawn(join(assets, name), args, { stdio: ['ignore', 'ignore', 'inherit'] });
  await eventually(async () => {
    assert.equal(child.exitCode, null, `${name} ended`);
    const get = health.startsWith('https') ? httpsGet : httpGet;
    const status = await new Promise((resolve, reject) => {
      get(health, { rejectUnauthorized: false, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).once('error', reject);
    });
    assert.equal(status, 200);
  });
  return child;
}

const startEtcd = (): Promise<ChildProcess> =>
  started(
    'etcd',
    [
      `--advertise-client-urls=${etcdUrl}`,
      `--data-dir=${etcdDir}`,
      `--listen-client-urls=${etcdUrl}`,
      '--listen-peer-urls=http://127.0.0.1:0',
    ],
    `${etcdUrl}/health`,
  );

const startApiserver = (): Promise<ChildProcess> =>
  started(
    'kube-apiserver',
    [
      '--allow-privileged=true',
      '--authorization-mode=RBAC',
      '--bind-address=127.0.0.1',
      `--cert-dir=${certDir}`,
      `--client-ca-file=${join(certDir, 'client-cert-auth-ca.crt')}`,
      '--disable-admission-plugins=ServiceAccount',
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${securePort}`,
      `--service-account-issuer=https://127.0.0.1:${securePort}/`,
      `--service-account-key-file=${join(certDir, 'sa-signer.crt')}`,
      `--service-account-signing-key-file=${join(certDir, 'sa-signer.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
    ],
    `https://127.0.0.1:${securePort}/healthz`,
  );

/** As process.State.Stop: SIGTERM to the process that was started, and it is gone. */
async function stopped(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await gone, [0, null]);
}

interface Connection {
  readonly client: ReturnType<typeof createClient>;
  ask(method: string, path: string, body?: object): Promise<{ status: number; text: string }>;
  close(): Promise<void>;
}

function connect({ certificatePem, privateKeyPem }: KeyPairPem): Connection {
  const transport = httpTransport(systemClock, {
    server: `https://127.0.0.1:${securePort}`,
    ca: Buffer.from(servingCa.certificatePem),
    cert: Buffer.from(certificatePem),
    key: Buffer.from(privateKeyPem),
  });
  return {
    client: createClient(transport),
    close: () => transport.close(),
    ask: async (method, path, body) => {
      const request = { method, path, headers: { 'content-type': 'application/json' } };
      const answer = await transport.request(
        body === undefined ? request : { ...request, body: Buffer.from(JSON.stringify(body)) },
      );
      return { status: answer.status, text: (await readAll(answer.body, 1 << 20)).toString() };
    },
  };
}

before(async () => {
  mkdirSync(certDir);
  const [serving, client, tokens] = await Promise.all([authority(), authority(), authority()]);
  servingCa = serving;
  clientCa = client;
  const names = { dnsNames: ['localhost'], ips: ['127.0.0.1'] };
  const own = await issueCertificate(serving, {
    commonName: 'localhost',
    usages: ['server'],
    ...names,
    ...week,
  });
  const files = {
    'apiserver.crt': own.certificatePem,
    'apiserver.key': own.privateKeyPem,
    'sa-signer.crt': tokens.certificatePem,
    'sa-signer.key': privateKeyToPem(tokens.privateKey),
    'client-cert-auth-ca.crt': client.certificatePem,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(certDir, name), text);
  etcdUrl = `http://127.0.0.1:${await freePort('127.0.0.1', 0)}`;
  securePort = await freePort('127.0.0.1', 0);
}, limit);
after(() => scratch.remove());

describe('a folder for KUBEBUILDER_ASSETS', limit, () => {
  test('has programs of the names, which say their flags as CheckFlag looks for them', () => {
    const { stdout, stderr, status } = spawnSync(launcher, ['envtest', '--dir', assets], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.equal(stdout, `${assets}\n`);
    const said = (name: string, ...args: string[]): string => {
      const result = spawnSync(join(assets, name), args, { encoding: 'utf8' });
      assert.equal(result.status, 0, result.stderr);
      return result.stdout;
    };
    assert.match(said('kubectl', 'version', '--client'), /v1\.36/);
    assert.match(said('etcd', '--help'), /^\s*--data-dir\b/m);
    const flags = said('kube-apiserver', '--help');
    assert.match(flags, /^\s*--service-account-issuer\b/m);
    assert.doesNotMatch(flags, /^\s*--insecure-port\b/m);
  });

  test('starts, serves the users of the given authority, and keeps its objects over a restart', async () => {
    const etcd = await startEtcd();
    const first = await startApiserver();
    const admin = connect(await user('admin', 'system:masters'));
    const { client } = admin;
    await client.create(configmaps, { metadata: { name: 'kept', namespace: 'default' }, data: { a: 'b' } });
    await serveWidgets(admin);
    await tokensAreOfTheIssuer(admin);
    const other = connect(await user('somebody'));
    assert.equal((await other.ask('GET', '/api/v1/namespaces/default/configmaps')).status, 403);
    await Promise.all([admin.close(), other.close()]);
    await stopped(first);

    const second = await startApiserver();
    const again = connect(await user('admin', 'system:masters'));
    const kept = await again.client.get(configmaps, { namespace: 'default', name: 'kept' });
    assert.deepEqual(kept.data, { a: 'b' });
    assert.equal((await again.ask('GET', `${widgets}/w`)).status, 200);
    await again.close();
    await stopped(second);
    await stopped(etcd);
  });

  test('kubectl of the folder works with a kubeconfig as envtest writes it', async () => {
    const etcd = await startEtcd();
    const apiserver = await startApiserver();
    const kubeconfig = join(certDir, 'test.kubecfg');
    const text = kubeconfigText({
      clusterName: 'envtest',
      userName: 'envtest',
      server: `https://127.0.0.1:${securePort}`,
      caCertificatePem: servingCa.certificatePem,
      credentials: await user('default', 'system:masters'),
    });
    writeFileSync(kubeconfig, text);
    const args = [`--kubeconfig=${kubeconfig}`, 'get', 'configmap', 'kept', '-o', 'name'];
    const { stdout, stderr } = spawnSync(join(assets, 'kubectl'), args, { encoding: 'utf8' });
    assert.equal(stdout, 'configmap/kept\n', stderr);
    await stopped(apiserver);
    await stopped(etcd);
  });

  test('an etcd that is none of ours is refused with a sentence', () => {
    const program = join(assets, 'kube-apiserver');
    const { status, stderr } = spawnSync(program, ['--etcd-servers=http://127.0.0.1:1'], {
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, /^porthole: --etcd-servers http:\/\/127\.0\.0\.1:1 does not answer\n/);
  });
});

/** As InstallCRDs: made, until discovery has it. */
async function serveWidgets({ ask }: Connection): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const made = await ask('POST', crds, {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  assert.equal(made.status, 201, made.text);
  await eventually(async () =>
    assert.match((await ask('GET', '/apis/example.com/v1')).text, /"name":"widgets"/),
  );
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { size: 1 } };
  assert.equal((await ask('POST', widgets, widget)).status, 201);
}

async function tokensAreOfTheIssuer({ ask }: Connection): Promise<void> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  assert.equal((await ask('POST', accounts, { metadata: { name: 'robot' } })).status, 201);
  const answer = await ask('POST', `${accounts}/robot/token`, { spec: {} });
  assert.equal(answer.status, 201, answer.text);
  const { status } = JSON.parse(answer.text) as { status: { token: string } };
  const [, claims = ''] = status.token.split('.');
  const { iss } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iss: string };
  assert.equal(iss, `https://127.0.0.1:${securePort}/`);
}
