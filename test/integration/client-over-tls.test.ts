// The client over TLS and HTTP/2 with a client certificate: requests, watches, and a server that is restarted.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configmaps, nodes, services } from '../../src/api/generated/resources.ts';
import type { Service } from '../../src/api/generated/types/core-v1.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { createClient } from '../../src/client/create-client.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { createHttpServer, type HttpServer } from '../../src/wire/http-server.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';

const service = (name: string): Service =>
  ({ metadata: { name, namespace: 'default' }, spec: { ports: [{ port: 80 }] } }) as unknown as Service;

describe('httpTransport', () => {
  it('speaks to a real server as the user of its certificate, and resumes watches after a restart', async (t) => {
    const plane = await startTestControlPlane();
    const serving = await plane.pki.serving({ dnsNames: ['localhost'], ips: ['127.0.0.1'] });
    const { kubelet } = await plane.pki.issueNodeCredentials('n1', { dnsNames: ['n1'], ips: [] });
    const tls = {
      key: serving.privateKeyPem,
      cert: serving.certificatePem,
      clientCa: plane.pki.caCertificatePem,
    };
    const listen = (port: number): Promise<{ server: HttpServer; port: number }> => {
      const server = createHttpServer({ handler: (request) => plane.controlPlane.handle(request), tls });
      return server.listen(port, '127.0.0.1').then((at) => ({ server, port: at.port }));
    };
    let { server, port } = await listen(0);
    const transport = httpTransport(systemClock, {
      server: `https://127.0.0.1:${port}`,
      ca: Buffer.from(plane.pki.caCertificatePem),
      cert: Buffer.from(kubelet.certificatePem),
      key: Buffer.from(kubelet.privateKeyPem),
    });
    const client = createClient(transport);
    const admin = plane.controlPlane.clientFor(administrator);
    const informers = frozenInformers({
      client,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
    t.after(async () => {
      await informers.stop();
      await transport.close();
      await server.close(100);
      await plane.close();
    });

    const node = await client.create(nodes, { metadata: { name: 'n1' }, spec: {} });
    assert.equal(node.metadata.name, 'n1');
    await assert.rejects(client.create(nodes, { metadata: { name: 'n2' }, spec: {} }), (e: unknown) =>
      isStatusError(e, 'Forbidden'),
    );
    await assert.rejects(client.get(configmaps, { name: 'x', namespace: 'default' }), (e: unknown) =>
      isStatusError(e, 'Forbidden'),
    );

    const informer = informers.informer(services);
    const seen: string[] = [];
    let wake = (): void => {};
    informer.addHandler({
      added: ({ metadata }) => {
        seen.push(metadata.name);
        wake();
      },
    });
    informers.start();
    await informer.synced();
    const until = async (name: string): Promise<void> => {
      while (!seen.includes(name)) await new Promise<void>((resolve) => (wake = resolve));
    };
    await admin.create(services, service('n2'));
    await until('n2');
    await server.close(100);
    await admin.create(services, service('n3'));
    ({ server } = await listen(port));
    await until('n3');
    assert.deepEqual(seen, ['kubernetes', 'n2', 'n3']);
  });
});
