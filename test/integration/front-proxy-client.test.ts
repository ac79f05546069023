// As whom a server asks other API servers: its own front proxy, or who the flags name, also when their files change.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { apiservices, configmaps, namespaces, services } from '../../src/api/generated/resources.ts';
import type { APIService } from '../../src/api/generated/types/apiregistration-v1.ts';
import type { Namespace, Service } from '../../src/api/generated/types/core-v1.ts';
import { broughtOf, type CredentialFlags } from '../../src/cmd/authentication-options.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { createCertificateAuthority } from '../../src/crypto/certificates.ts';
import { certificateOf, dates } from '../harness/client-certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { extensionGroup, startExtensionServer } from '../harness/extension-server.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** Files are looked at each tenth of it. */
const lifeMs = 12_000;
const flunders = `/apis/${extensionGroup}/v1alpha1/flunders`;

async function serverOf(t: TestContext, path: string, flags: CredentialFlags) {
  const server = await startServer({
    dataDir: join(path, 'server'),
    securePort: 0,
    bindAddress: '127.0.0.1',
    certificateMs: lifeMs,
    brought: broughtOf(flags),
    authentication: flags,
    log: silentLogger,
  });
  t.after(() => server.stop());
  return { server, client: server.controlPlane.clientFor(administrator) };
}

/** Who it says it is, by the authority that the other server believes. */
async function extended(
  t: TestContext,
  { client }: Awaited<ReturnType<typeof serverOf>>,
  frontProxyCa: string,
): Promise<() => Promise<string>> {
  const extension = await startExtensionServer({ frontProxyCa });
  t.after(() => extension.close());
  await client.create(namespaces, { metadata: { name: 'wardle' } } as Namespace);
  await client.create(services, {
    metadata: { name: 'api', namespace: 'wardle' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  } as Service);
  await client.create(apiservices, {
    metadata: { name: `v1alpha1.${extensionGroup}` },
    spec: {
      group: extensionGroup,
      version: 'v1alpha1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      caBundle: extension.caBundle,
      service: { namespace: 'wardle', name: 'api', port: extension.port },
    },
  } as APIService);
  return async () => {
    await eventually(() => client.raw({ method: 'GET', path: flunders }));
    return extension.asked.filter(({ url }) => url === flunders).at(-1)!.proxy;
  };
}

test('a server is its own front proxy, and says whom to believe', async (t) => {
  const scratch = scratchDirectory('front-proxy');
  t.after(() => scratch.remove());
  const running = await serverOf(t, scratch.path, {});
  const { data = {} } = await running.client.get(configmaps, {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  });
  assert.deepEqual(JSON.parse(data['requestheader-allowed-names'] ?? ''), ['front-proxy-client']);
  assert.deepEqual(JSON.parse(data['requestheader-username-headers'] ?? ''), ['X-Remote-User']);
  const asks = await extended(t, running, data['requestheader-client-ca-file'] ?? '');
  assert.equal(await asks(), 'front-proxy-client');
});

test('--proxy-client-cert-file names somebody else, and is read again', async (t) => {
  const scratch = scratchDirectory('front-proxy');
  t.after(() => scratch.remove());
  const ca = await createCertificateAuthority({ commonName: 'somebody', ...dates });
  const [certFile, keyFile] = [join(scratch.path, 'proxy.crt'), join(scratch.path, 'proxy.key')];
  const write = async (name: string): Promise<void> => {
    const { cert, key } = await certificateOf(ca, { name });
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
  };
  await write('aggregator');
  assert.throws(() => broughtOf({ proxyClientCertFile: certFile }), /go together$/);
  const running = await serverOf(t, scratch.path, {
    proxyClientCertFile: certFile,
    proxyClientKeyFile: keyFile,
    requestheaderAllowedNames: ['aggregator', 'successor'],
  });
  const { data = {} } = await running.client.get(configmaps, {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication',
  });
  assert.deepEqual(JSON.parse(data['requestheader-allowed-names'] ?? ''), ['aggregator', 'successor']);
  const asks = await extended(t, running, ca.certificatePem);
  assert.equal(await asks(), 'aggregator');
  await write('successor');
  await eventually(async () => assert.equal(await asks(), 'successor'));
});
