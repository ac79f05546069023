// Who may speak to a kubelet. Issuer, purpose, name and right are all checked; a CN alone opens nothing.
import assert from 'node:assert/strict';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { serviceaccounts } from '../../src/api/generated/resources.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../../src/crypto/certificates.ts';
import { startKubelet } from '../../src/kubelet/kubelet.ts';
import { createLinuxNodeOs } from '../../src/kubelet/node-os/linux.ts';
import { createSimulatedCri } from '../../src/kubelet/simulated/simulated-cri.ts';
import { createSimulatedRuntime } from '../../src/kubelet/simulated/simulated-runtime.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { type Caller, certificateOf, dates } from '../harness/client-certificates.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';

interface Kubelet {
  readonly plane: TestControlPlane;
  readonly ca: KeyPair;
  /** The answer's status, or the error that the TLS layer gave. */
  ask(path: string, options: RequestOptions): Promise<number | string>;
}

async function startNode(t: TestContext): Promise<Kubelet> {
  const plane = await startTestControlPlane();
  const ca = plane.pki.signers.client();
  const client = plane.controlPlane.clientFor({
    name: 'system:node:node-1',
    groups: ['system:nodes', 'system:authenticated'],
  });
  const serving = await issueCertificate(ca, {
    commonName: 'system:node:node-1',
    organizations: ['system:nodes'],
    usages: ['server'],
    ips: ['127.0.0.1'],
    ...dates,
  });
  const common = { client, clock: systemClock, random: systemRandom, log: silentLogger };
  const informers = frozenInformers(common);
  const host = createLinuxHost();
  const kubelet = await startKubelet({
    ...common,
    informers,
    runtime: createSimulatedRuntime(
      createSimulatedCri({ ...common, podCidr: async () => '10.244.7.0/29', version: '1' }),
      host.stats,
    ),
    host,
    nodeOs: createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0' }),
    nodeName: 'node-1',
    nodeIPs: ['10.1.0.11'],
    dns: { servers: [], domain: 'cluster.local', host: { servers: [], searches: [], options: [] } },
    version: 'v1.36.0',
    server: {
      address: '127.0.0.1',
      port: 0,
      tls: { cert: serving.certificatePem, key: serving.privateKeyPem, clientCa: ca.certificatePem },
    },
  });
  t.after(async () => {
    await kubelet.stop();
    await informers.stop();
    await plane.close();
  });
  return {
    plane,
    ca,
    ask: (path, options) =>
      new Promise((resolve) => {
        const request = httpsRequest(
          { host: '127.0.0.1', port: kubelet.port, path, ca: ca.certificatePem, agent: false, ...options },
          (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode ?? 0));
          },
        );
        request.on('upgrade', (response, socket) => {
          socket.destroy();
          resolve(response.statusCode ?? 0);
        });
        request.on('error', (error) => resolve(error.message));
        request.end();
      }),
  };
}

const apiServer = 'kube-apiserver-kubelet-client';

test('a kubelet believes an issuer, a purpose and a right, never a common name alone', async (t) => {
  const { ca, ask } = await startNode(t);
  const stranger = await createCertificateAuthority({ commonName: 'kubernetes', ...dates });
  const rows: readonly (readonly [string, Caller, number])[] = [
    ['the API server', { name: apiServer }, 200],
    ['its name by an authority of the same name', { name: apiServer, issuer: stranger }, 401],
    ['its name on a serving certificate', { name: apiServer, usages: ['server'] }, 401],
    ['its name on a certificate that has ended', { name: apiServer, notAfter: Date.now() - 60_000 }, 401],
    ['its name in quotes', { name: `system:node:x"${apiServer}"`, groups: ['system:nodes'] }, 403],
    ['its name as a group', { name: 'alice', groups: [apiServer] }, 403],
    ['its name with a NUL byte', { name: `${apiServer}\0.example.com` }, 403],
    ['its name in other letters', { name: apiServer.toUpperCase() }, 403],
    ['an administrator', { name: 'admin', groups: ['system:masters'] }, 200],
    ['an administrator in quotes', { name: 'alice', groups: ['dev"system:masters"'] }, 403],
    ['another node', { name: 'system:node:node-2', groups: ['system:nodes'] }, 403],
    ['the node itself', { name: 'system:node:node-1', groups: ['system:nodes'] }, 403],
    ['nobody of that name', { name: '' }, 401],
  ];
  for (const [who, caller, expected] of rows)
    await t.test(who, async () =>
      assert.equal(await ask('/pods', await certificateOf(ca, caller)), expected),
    );
  await t.test('no certificate and no token', async () => assert.equal(await ask('/pods', {}), 401));
});

async function grant(plane: TestControlPlane, user: string, verbs: string[], subresources: string[]) {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const group = 'rbac.authorization.k8s.io';
  const role = {
    metadata: { name: user },
    rules: [{ apiGroups: [''], resources: subresources.map((one) => `nodes/${one}`), verbs }],
  };
  const binding = {
    metadata: { name: user },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', apiGroup: group, name: user }],
  };
  assert.equal((await plane.ask('POST', `${rbac}/clusterroles`, role)).status, 201);
  assert.equal((await plane.ask('POST', `${rbac}/clusterrolebindings`, binding)).status, 201);
}

const upgrade = { headers: { connection: 'Upgrade', upgrade: 'websocket' } };

test('reading nodes/proxy runs nothing, and each part of a kubelet has a right of its own', async (t) => {
  const { plane, ca, ask } = await startNode(t);
  await grant(plane, 'reader', ['get'], ['proxy']);
  await grant(plane, 'runner', ['create'], ['proxy']);
  await grant(plane, 'metrics', ['get'], ['metrics']);
  await grant(plane, 'stats', ['get'], ['stats']);
  await grant(plane, 'pods', ['get'], ['pods']);
  await grant(plane, 'healthz', ['get'], ['healthz']);
  const exec = '/exec/default/web/main?command=id&output=1';
  const rows: readonly (readonly [string, string, string, RequestOptions, number])[] = [
    ['a WebSocket for exec', 'reader', exec, upgrade, 403],
    ['exec by GET', 'reader', exec, {}, 403],
    ['exec by HEAD', 'reader', exec, { method: 'HEAD' }, 403],
    ['exec, its path in escapes', 'reader', exec.replace('/exec', '/%65xec'), upgrade, 403],
    ['exec, its path in escapes, no upgrade', 'reader', exec.replace('/exec', '/%65x%65c'), {}, 403],
    ['attach', 'reader', '/attach/default/web/main?output=1', upgrade, 403],
    ['port-forward', 'reader', '/portForward/default/web?port=80', upgrade, 403],
    ['run', 'reader', '/run/default/web/main?cmd=id', { method: 'POST' }, 403],
    ['an upgrade of anything', 'reader', '/pods', upgrade, 403],
    ['who may create is let through: there is no such pod', 'runner', exec, upgrade, 404],
    ['creating is not reading', 'runner', '/pods', {}, 403],
    ['pods by nodes/proxy', 'reader', '/pods', {}, 200],
    ['pods by nodes/pods', 'pods', '/pods', {}, 200],
    ['logs by nodes/pods', 'pods', '/containerLogs/default/web/main', {}, 403],
    ['logs by nodes/proxy', 'reader', '/containerLogs/default/web/main', {}, 404],
    ['health by nodes/healthz', 'healthz', '/healthz', {}, 200],
    ['health by nodes/metrics', 'metrics', '/healthz', {}, 403],
    ['metrics by nodes/metrics', 'metrics', '/metrics/resource', {}, 200],
    ['the metrics of the kubelet by nodes/metrics', 'metrics', '/metrics', {}, 200],
    ['the metrics of the kubelet by nodes/proxy', 'reader', '/metrics', {}, 403],
    ['the metrics of probes by nodes/metrics', 'metrics', '/metrics/probes', {}, 200],
    ['the metrics of probes by nodes/stats', 'stats', '/metrics/probes', {}, 403],
    ['metrics by nodes/proxy', 'reader', '/metrics/resource', {}, 403],
    ['what pods take by nodes/metrics', 'metrics', '/metrics/cadvisor', {}, 200],
    ['what pods take by nodes/proxy', 'reader', '/metrics/cadvisor', {}, 403],
    ['metrics that there are not', 'metrics', '/metrics/constructor', {}, 404],
    ['stats by nodes/stats', 'stats', '/stats/summary', {}, 200],
    ['stats by nodes/metrics', 'metrics', '/stats/summary', {}, 403],
    ['a method of its own', 'reader', '/pods', { method: 'PROPFIND' }, 403],
    ['a path beside the known ones', 'metrics', '/metricsx', {}, 403],
    ['a path that is not encoded', 'reader', '/pods/%ff', {}, 400],
  ];
  for (const [what, name, path, options, expected] of rows)
    await t.test(`${name}: ${what}`, async () =>
      assert.equal(await ask(path, { ...(await certificateOf(ca, { name })), ...options }), expected),
    );
});

test('S (low): a kubelet takes the bearer tokens that the API server knows, and no others', async (t) => {
  const { plane, ask } = await startNode(t);
  const client = plane.controlPlane.clientFor(administrator);
  const namespace = 'default';
  await client.create(serviceaccounts, { metadata: { name: 'monitor', namespace } });
  await grant(plane, 'system:serviceaccount:default:monitor', ['get'], ['metrics']);
  const tokenFor = async (audiences?: string[]): Promise<string> => {
    const answer = (await client.createSubresource(serviceaccounts, { name: 'monitor', namespace }, 'token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { ...(audiences === undefined ? {} : { audiences }) },
    })) as { status: { token: string } };
    return answer.status.token;
  };
  const token = await tokenFor();
  const bearer = (text: string): RequestOptions => ({ headers: { authorization: `Bearer ${text}` } });
  assert.equal(await ask('/metrics/resource', bearer(token)), 200);
  assert.equal(await ask('/pods', bearer(token)), 403);
  assert.equal(await ask('/metrics/resource', bearer(`${token.slice(0, -8)}AAAAAAAA`)), 401);
  assert.equal(await ask('/metrics/resource', bearer(await tokenFor(['somebody-else']))), 401);
  assert.equal(await ask('/metrics/resource', { headers: { authorization: `Basic ${token}` } }), 401);
});

test('the API server wants create for every upgrade to a node, a pod or a Service', async (t) => {
  const plane = await startTestControlPlane();
  t.after(() => plane.close());
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const group = 'rbac.authorization.k8s.io';
  const resources = [
    'nodes/proxy',
    'pods/proxy',
    'services/proxy',
    'pods/exec',
    'pods/attach',
    'pods/portforward',
  ];
  for (const [name, verbs] of [
    ['reader', ['get']],
    ['writer', ['get', 'create']],
  ] as const) {
    await plane.ask('POST', `${rbac}/clusterroles`, {
      metadata: { name },
      rules: [{ apiGroups: [''], resources, verbs }],
    });
    await plane.ask('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', apiGroup: group, name }],
    });
  }
  const status = async (name: string, url: string, upgrades: boolean): Promise<number> => {
    const response = await plane.controlPlane.handle({
      method: 'GET',
      url,
      headers: upgrades ? upgrade.headers : {},
      readBody: async () => Buffer.alloc(0),
      signal: new AbortController().signal,
      remoteAddress: '192.0.2.7',
      user: { name, groups: ['system:authenticated'] },
      ...(upgrades ? { upgrade: { socket: new PassThrough(), head: Buffer.alloc(0) } } : {}),
    });
    return response.status;
  };
  const pod = '/api/v1/namespaces/default/pods/web';
  for (const url of [
    '/api/v1/nodes/node-1/proxy/exec/default/web/main?command=id',
    '/api/v1/nodes/node-1/proxy',
    `${pod}/proxy/`,
    `${pod}/proxy?watch=true`,
    '/api/v1/namespaces/default/services/web/proxy/',
    `${pod}/exec?command=id`,
    `${pod}/attach`,
    `${pod}/portforward`,
  ]) {
    assert.equal(await status('reader', url, true), 403, `reader upgrades ${url}`);
    assert.notEqual(await status('reader', url, false), 403, `reader reads ${url}`);
    assert.notEqual(await status('writer', url, true), 403, `writer upgrades ${url}`);
  }
});
