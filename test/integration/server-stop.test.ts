// A server is stopped once, whoever asks for it and how often: what fails first is what is reported.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { startHttpsService } from '../harness/https-service.ts';
import { scratchDirectory } from '../harness/scratch.ts';

test('whoever stops a server that stops waits for the first, and one that has stopped is left alone', async (t) => {
  const scratch = scratchDirectory('server-stop');
  t.after(() => scratch.remove());
  const options = { dataDir: scratch.path, securePort: 0, bindAddress: '127.0.0.1', log: silentLogger };
  const server = await startServer(options);
  const first = server.stop();
  let firstHasEnded = false;
  void first.then(() => {
    firstHasEnded = true;
  });
  await server.stop();
  assert.ok(firstHasEnded);
  const next = await startServer(options);
  // It must not give away what is another's by now.
  await server.stop();
  await assert.rejects(startServer(options), { code: 'Locked' });
  await next.stop();
});

test('nobody waits on for a service that says nothing of images, once the server has stopped', {
  timeout: 25_000,
}, async (t) => {
  const scratch = scratchDirectory('server-stop-images');
  const heard = Promise.withResolvers<void>();
  const service = await startHttpsService(() => {
    heard.resolve();
    return new Promise(() => {});
  });
  t.after(async () => {
    await service.close();
    scratch.remove();
  });
  const file = (name: string, content: object): string => {
    writeFileSync(join(scratch.path, name), JSON.stringify(content));
    return join(scratch.path, name);
  };
  const cluster = {
    server: service.url,
    'certificate-authority-data': Buffer.from(service.caPem).toString('base64'),
  };
  const kubeConfigFile = file('kubeconfig', {
    clusters: [{ name: 's', cluster }],
    contexts: [{ name: 'c', context: { cluster: 's' } }],
    'current-context': 'c',
  });
  const server = await startServer({
    dataDir: join(scratch.path, 'data'),
    securePort: 0,
    bindAddress: '127.0.0.1',
    log: silentLogger,
    admission: {
      enableAdmissionPlugins: ['ImagePolicyWebhook'],
      disableAdmissionPlugins: ['ServiceAccount'],
      admissionControlConfigFile: file('admission.json', { imagePolicy: { kubeConfigFile } }),
    },
  });
  const transport = inProcessTransport(server.controlPlane.handle, administrator);
  // More than it has connections to that service.
  const asked = Array.from({ length: 40 }, async (_, i) => {
    const pod = { metadata: { name: `p${i}` }, spec: { containers: [{ name: 'c', image: `i${i}` }] } };
    const { status } = await transport.request({
      method: 'POST',
      path: '/api/v1/namespaces/kube-system/pods',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(pod)),
    });
    return status;
  });
  await heard.promise;
  await server.stop();
  assert.ok((await Promise.allSettled(asked)).every((one) => one.status === 'rejected' || one.value >= 400));
});
