// Registries with an authority of their own, with client certificates, without TLS, and behind a mirror, for a cluster of `up`.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Child, type Processes, runOrThrow } from '../../src/os/processes.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { startDockerRegistry } from '../harness/docker-registry.ts';
import { eventually } from '../harness/eventually.ts';
import { busybox, podManifest, untilTerm } from '../harness/linux-cluster.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const ports = { plain: 5001, tls: 5002, mutual: 5003, login: 5004 } as const;
/** Of docker-registry's file of passwords: `se:cret` by bcrypt. */
const htpasswd = 'robot:$2b$04$0MF6yLnli95VlM4z0zmKfeRPGsTl21mV9vbqhNyAQ4IIKbG6LaRpG\n';
const basic = Buffer.from('robot:se:cret').toString('base64');
const day = 86_400_000;

let cluster: TestCluster;
let node: Processes;
let address: string;
let client: { readonly certificatePem: string; readonly privateKeyPem: string };
let ca: string;
const scratch = scratchDirectory('registries');
const certs = join(scratch.path, 'certs.d');
const children: Child[] = [];

const registry = (kind: keyof typeof ports): string => `${address}:${ports[kind]}`;

/** What a person writes for a registry. */
function configure(host: string, files: Readonly<Record<string, string>>): string {
  const folder = join(certs, host);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

let made = 0;
/** A new pod of an image that is asked for anew. */
async function podOf(image: string): Promise<string> {
  const name = `pull-${++made}`;
  await cluster.kubectl.apply(podManifest(name, { image, imagePullPolicy: 'Always', command: untilTerm }));
  return name;
}

async function runs(image: string): Promise<void> {
  const name = await podOf(image);
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=50s']);
}

/** What the events say of the pull. */
async function refusal(image: string): Promise<string> {
  const name = await podOf(image);
  const of = `involvedObject.name=${name},reason=Failed`;
  const said = await eventually(async () => {
    const text = await cluster.kubectl.ok([
      ...['get', 'events', '--field-selector', of, '-o', 'jsonpath={.items[*].message}'],
    ]);
    assert.match(text, /Failed to pull image/);
    return text;
  });
  await cluster.kubectl.ok(['delete', 'pod', name, '--wait=false']);
  return said;
}

before(async () => {
  mkdirSync(certs);
  cluster = await startTestCluster({ registryConfig: certs });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  const paths = clusterPaths(cluster.home, cluster.name);
  const record = readClusterState(paths)!.nodes[0]!;
  address = record.ip;
  node = processesInNetns(linuxProcesses, record.netns!);

  const [notBefore, notAfter] = [Date.now() - day, Date.now() + day];
  const authority = await createCertificateAuthority({ commonName: 'own', notBefore, notAfter });
  ca = authority.certificatePem;
  const facts = { notBefore, notAfter };
  const server = await issueCertificate(authority, {
    ...facts,
    commonName: 'registry',
    ips: [address],
    usages: ['server'],
  });
  client = await issueCertificate(authority, { ...facts, commonName: 'node', usages: ['client'] });
  const write = (name: string, text: string): string => {
    writeFileSync(join(scratch.path, name), text);
    return join(scratch.path, name);
  };
  const certificate = write('server.crt', server.certificatePem);
  const tls = { certificate, key: write('server.key', server.privateKeyPem) };
  const clientcas = [write('ca.crt', ca)];
  const common = { from: node, folder: scratch.path, address };
  children.push(await startDockerRegistry({ ...common, port: ports.plain }));
  children.push(await startDockerRegistry({ ...common, port: ports.tls, tls }));
  children.push(await startDockerRegistry({ ...common, port: ports.mutual, tls: { ...tls, clientcas } }));
  children.push(await startDockerRegistry({ ...common, port: ports.login, tls, htpasswd }));
  children.push(await startDockerRegistry({ ...common, address: '127.0.0.1', port: ports.plain }));

  const { containerdSocket } = nodeLayout(paths.node(record.name));
  const ctr = (...args: string[]) =>
    runOrThrow(node, 'ctr', ['-a', containerdSocket, '-n', 'k8s.io', 'images', ...args]);
  const pushed = `${registry('plain')}/team/app:1`;
  await ctr('tag', busybox, pushed);
  await ctr('push', '--plain-http', pushed);
  await ctr('rm', pushed);
}, limit);
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await cluster?.down();
  scratch.remove();
}, limit);

describe('--registry-config', limit, () => {
  test('a registry whose authority is unknown is refused with the next step; its ca.crt there opens it, without a restart', async () => {
    const image = `${registry('tls')}/team/app:1`;
    const said = await refusal(image);
    assert.match(said, /x509: certificate signed by unknown authority/);
    const file = join(certs, registry('tls'), 'ca.crt');
    assert.ok(said.includes(`; next step: put the certificate of its authority into ${file}`), said);
    configure(registry('tls'), { 'ca.crt': ca });
    await runs(image);
  });

  test('plain HTTP is spoken with the registry that is named so, and with loopback', async () => {
    const image = `${registry('plain')}/team/app:1`;
    const said = await refusal(image);
    assert.match(said, /server gave HTTP response to HTTPS client; next step: give it a certificate, or /);
    assert.ok(said.includes(`[host."http://${registry('plain')}"] in `), said);
    configure(registry('plain'), { 'hosts.toml': `[host."http://${registry('plain')}"]\n` });
    await runs(image);
    await runs(`127.0.0.1:${ports.plain}/team/app:1`);
  });

  test('a registry that wants a client certificate gets the one beside its authority', async () => {
    const image = `${registry('mutual')}/team/app:1`;
    configure(registry('mutual'), { 'ca.crt': ca });
    assert.match(
      await refusal(image),
      /tls: .*certificate.*; next step: put a certificate that it takes into /,
    );
    configure(registry('mutual'), {
      'ca.crt': ca,
      'client.cert': client.certificatePem,
      'client.key': client.privateKeyPem,
    });
    await runs(image);
  });

  test('a registry that wants a password gets the one in config.json, as docker login writes it, for pods without a secret', async () => {
    const image = `${registry('login')}/team/app:1`;
    configure(registry('login'), { 'ca.crt': ca });
    assert.match(await refusal(image), /401 Unauthorized|authorization failed/);
    const file = join(certs, 'config.json');
    writeFileSync(file, JSON.stringify({ auths: { [registry('login')]: { auth: basic } } }));
    await runs(image);
    // Open to every pod of the node, as upstream's node-wide credentials make it.
    const never = 'pull-never';
    await cluster.kubectl.apply(podManifest(never, { image, imagePullPolicy: 'Never', command: untilTerm }));
    await cluster.kubectl.ok(['wait', '--for=condition=Ready', `pod/${never}`, '--timeout=50s']);
    rmSync(file);
    assert.match(await refusal(image), /401 Unauthorized|authorization failed/);
  });

  test('a mirror over TLS that wants a password gets the one in its hosts.toml', async () => {
    const mirror = (header: string): string =>
      `[host."https://${registry('login')}"]\n  capabilities = ["pull", "resolve"]\n  ca = "ca.crt"\n${header}`;
    const files = (header: string) => ({ 'hosts.toml': mirror(header), 'ca.crt': ca });
    configure('behind.invalid', files(''));
    assert.match(await refusal('behind.invalid/team/app:1'), /behind\.invalid|401|authorization/);
    const header = `  [host."https://${registry('login')}".header]\n    Authorization = "Basic ${basic}"\n`;
    configure('behind.invalid', files(header));
    await runs('behind.invalid/team/app:1');
  });

  test('a mirror is asked in place of a registry that nobody reaches', async () => {
    const mirror = `[host."https://${registry('tls')}"]\n  capabilities = ["pull", "resolve"]\n  ca = "ca.crt"\n`;
    configure('registry.invalid', {
      'hosts.toml': `server = "https://registry.invalid"\n${mirror}`,
      'ca.crt': ca,
    });
    await runs('registry.invalid/team/app:1');
  });

  test('up again keeps the folder, refuses another, and says what a folder is that is none', async () => {
    await cluster.up();
    await runs(`${registry('tls')}/team/app:1`);
    const again = ['up', '--name', cluster.name, '--linux', '1', '--windows', '0'];
    const other = await cluster.porthole([...again, '--registry-config', scratch.path]);
    assert.equal(other.code, 1);
    assert.match(
      other.stderr,
      /its nodes look elsewhere how to ask registries \(--registry-config \S*certs\.d\)/,
    );
    const none = await cluster.porthole([...again, '--registry-config', join(scratch.path, 'none')]);
    assert.equal(none.code, 1);
    assert.match(
      none.stderr,
      /--registry-config \S+\/none is no folder: it holds one folder for each registry/,
    );
  });
});
