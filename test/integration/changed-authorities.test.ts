// Who vouches may change while the server runs: all who must know of it are told, and kubeconfigs are renewed before they end.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { configmaps, namespaces } from '../../src/api/generated/resources.ts';
import { parseYaml, toYaml } from '../../src/base/yaml.ts';
import { clusterCidr } from '../../src/cmd/compose/cluster-addresses.ts';
import {
  type ClusterCredentials,
  issueClusterCredentials,
} from '../../src/cmd/compose/cluster-credentials.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { controllersComponent } from '../../src/cmd/compose/server-components.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateAuthority } from '../../src/crypto/certificates.ts';
import { certificateFacts } from '../../src/crypto/subject.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** Files are looked at each tenth of it. */
const lifeMs = 12_000;
const patience = { timeoutMs: 60_000 };
const successor = await createCertificateAuthority({
  commonName: 'kubernetes',
  notBefore: Date.now() - 1_000,
  notAfter: Date.now() + 3_600_000,
});

async function startAll(t: TestContext) {
  const scratch = scratchDirectory('authorities');
  t.after(() => scratch.remove());
  const serverDir = join(scratch.path, 'server');
  const list = join(scratch.path, 'credentials.json');
  const server = await startServer({
    dataDir: serverDir,
    securePort: 0,
    bindAddress: '127.0.0.1',
    components: [controllersComponent({ clusterCidrs: [clusterCidr] })],
    certificateMs: lifeMs,
    keepCredentials: list,
    log: silentLogger,
  });
  t.after(() => server.stop());
  await server.ready;
  const credentials: ClusterCredentials = {
    clusterName: 'c',
    serverDir,
    localUrl: server.url,
    nodeUrl: server.url,
    kubeconfig: join(scratch.path, 'kubeconfig'),
    nodes: [{ name: 'n1', ip: '127.0.0.1', dir: join(scratch.path, 'n1') }],
    certificateMs: lifeMs,
    listFile: list,
  };
  await issueClusterCredentials(credentials);
  return { server, credentials, client: server.controlPlane.clientFor(administrator) };
}

test('a second authority in ca.crt reaches pods, extension servers, nodes and kubeconfigs without a restart', async (t) => {
  const { client, credentials } = await startAll(t);
  const published = (namespace: string, name: string) => client.get(configmaps, { namespace, name });
  await eventually(() => published('default', 'kube-root-ca.crt'), patience);
  const file = join(credentials.serverDir, 'pki/ca.crt');
  const bundle = readFileSync(file, 'utf8') + successor.certificatePem;
  writeFileSync(file, bundle);
  const frontFile = join(credentials.serverDir, 'pki/front-proxy-ca.crt');
  const front = readFileSync(frontFile, 'utf8') + successor.certificatePem;
  writeFileSync(frontFile, front);
  await client.create(namespaces, { metadata: { name: 'later' }, spec: {} });
  await eventually(async () => {
    for (const namespace of ['default', 'kube-system', 'later'])
      assert.equal((await published(namespace, 'kube-root-ca.crt')).data?.['ca.crt'], bundle, namespace);
    const { data } = await published('kube-system', 'extension-apiserver-authentication');
    assert.equal(data?.['client-ca-file'], bundle);
    assert.equal(data?.['requestheader-client-ca-file'], front);
    const node = credentials.nodes[0]!.dir;
    assert.equal(readFileSync(join(node, 'ca.crt'), 'utf8'), bundle);
    const inside = Buffer.from(bundle).toString('base64');
    for (const path of [
      credentials.kubeconfig,
      join(node, 'kube-proxy.kubeconfig'),
      join(node, 'agent.kubeconfig'),
      join(credentials.serverDir, 'admin.kubeconfig'),
    ])
      assert.ok(readFileSync(path, 'utf8').replaceAll(/\s/g, '').includes(inside), path);
  }, patience);
  // Who changes it by hand does not keep others from learning whom to believe.
  await client.delete(configmaps, { namespace: 'kube-system', name: 'extension-apiserver-authentication' });
  await eventually(() => published('kube-system', 'extension-apiserver-authentication'), patience);
});

test('kubeconfigs of users and of kube-proxy are renewed while the server runs, and else left as they are', async (t) => {
  const { credentials } = await startAll(t);
  const files = [credentials.kubeconfig, join(credentials.nodes[0]!.dir, 'kube-proxy.kubeconfig')];
  const serialIn = (file: string): string => {
    const { users } = parseYaml(readFileSync(file, 'utf8')) as {
      users: { user: { 'client-certificate-data': string } }[];
    };
    const pem = Buffer.from(users[0]!.user['client-certificate-data'], 'base64').toString();
    const { notAfter, serialNumber } = certificateFacts(pem);
    assert.ok(notAfter > Date.now(), `${file} ended`);
    return serialNumber;
  };
  const first = files.map(serialIn);
  // A person's own choice of namespace stays as long as the certificate does.
  const config = parseYaml(readFileSync(credentials.kubeconfig, 'utf8')) as {
    contexts: { context: object }[];
  };
  Object.assign(config.contexts[0]!.context, { namespace: 'mine' });
  writeFileSync(credentials.kubeconfig, toYaml(config));
  const seen = new Map(files.map((file) => [file, new Set([serialIn(file)])]));
  let kept = 0;
  await eventually(() => {
    for (const file of files) seen.get(file)!.add(serialIn(file));
    if (
      serialIn(credentials.kubeconfig) === first[0] &&
      readFileSync(credentials.kubeconfig, 'utf8').includes('mine')
    )
      kept++;
    for (const serials of seen.values()) assert.ok(serials.size >= 3);
  }, patience);
  assert.ok(kept > 10, `${kept}`);
});
