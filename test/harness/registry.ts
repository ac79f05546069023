// A registry of one image under any name, over TLS and with one user's password: what a node pulls from.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { scratchDirectory } from './scratch.ts';

export interface TestRegistry {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  readonly ca: string;
  /** Who asked for manifests: `user:password path`, '' for nobody. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const day = 86_400_000;

/** `archive`: an OCI archive with one image, as the sample images are. */
export async function startTestRegistry(archive: string, user: string): Promise<TestRegistry> {
  const scratch = scratchDirectory('registry');
  await runOrThrow(linuxProcesses, 'tar', ['-xf', archive, '-C', scratch.path]);
  const blob = (digest: string): Buffer =>
    readFileSync(join(scratch.path, 'blobs', digest.replace(':', '/')));
  const index = JSON.parse(readFileSync(join(scratch.path, 'index.json'), 'utf8')) as {
    manifests: { digest: string; mediaType: string }[];
  };
  const [manifest] = index.manifests;
  const [notBefore, notAfter] = [Date.now() - day, Date.now() + day];
  const ca = await createCertificateAuthority({ commonName: 'registry-ca', notBefore, notAfter });
  const usages = ['server'] as const;
  const names = { commonName: 'registry', ips: ['127.0.0.1'] };
  const tls = await issueCertificate(ca, { ...names, notBefore, notAfter, usages: [...usages] });
  const asked: string[] = [];

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    const [, encoded = ''] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    const who = Buffer.from(encoded, 'base64').toString();
    const [, repository = '', kind = '', reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)$/.exec(path) ?? [];
    if (kind === 'manifests') asked.push(`${who} ${repository}`);
    if (who !== user) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const digest = reference.startsWith('sha256:') ? reference : manifest!.digest;
    const type = kind === 'manifests' ? manifest!.mediaType : 'application/octet-stream';
    const body = kind === '' ? Buffer.from('{}') : blob(digest);
    response.writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      ...(kind === '' ? {} : { 'docker-content-digest': digest }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  const server = createServer({ cert: tls.certificatePem, key: tls.privateKeyPem }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: ca.certificatePem,
    asked,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      scratch.remove();
    },
  };
}
