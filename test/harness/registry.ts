// A registry of one image under any name, over TLS and with one user's password: what a node pulls from, also one that stalls.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCertificateAuthority, issueCertificate } from '../../src/crypto/certificates.ts';
import { sha256Hex } from '../../src/crypto/digests.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { scratchDirectory } from './scratch.ts';

export interface TestRegistry {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  /** Who asked for manifests: `user:password path`, '' for nobody. */
  readonly asked: readonly string[];
  /** Its image has blobs of its own, which begin and never come to their end. */
  stall(repository: string): void;
  /** Repositories of such blobs that somebody waits for. */
  readonly waited: ReadonlySet<string>;
  /** Writes what containerd is to know of this registry, as a person does. */
  configure(certsDir: string): void;
  close(): Promise<void>;
}

const day = 86_400_000;
const manifestType = 'application/vnd.oci.image.manifest.v1+json';
/** A blob of a repository that stalls. */
const endlessBytes = 1 << 20;

/** Of an image that no node has, whatever lies there already. */
function endlessManifest(repository: string): Buffer {
  const blobOf = (what: string, mediaType: string): object => ({
    mediaType,
    digest: `sha256:${sha256Hex(`${what} of ${repository}`)}`,
    size: endlessBytes,
  });
  const config = blobOf('config', 'application/vnd.oci.image.config.v1+json');
  const layers = [blobOf('layer', 'application/vnd.oci.image.layer.v1.tar')];
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: manifestType, config, layers }));
}

function configure(certsDir: string, host: string, ca: string): void {
  const folder = join(certsDir, host);
  const file = join(folder, 'ca.crt');
  const at = `https://${host}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, ca);
  writeFileSync(
    join(folder, 'hosts.toml'),
    `server = "${at}"\n[host."${at}"]\n  capabilities = ["pull", "resolve"]\n  ca = "${file}"\n`,
  );
}

/** `archive`: an OCI archive with one image, as the sample images are. */
export async function startTestRegistry(archive: string, user: string): Promise<TestRegistry> {
  const scratch = scratchDirectory('registry');
  await runOrThrow(linuxProcesses, 'tar', ['-xf', archive, '-C', scratch.path]);
  const blob = (digest: string): Buffer =>
    readFileSync(join(scratch.path, 'blobs', digest.replace(':', '/')));
  const index = JSON.parse(readFileSync(join(scratch.path, 'index.json'), 'utf8')) as {
    manifests: { digest: string }[];
  };
  const [manifest] = index.manifests;
  const [notBefore, notAfter] = [Date.now() - day, Date.now() + day];
  const ca = await createCertificateAuthority({ commonName: 'registry-ca', notBefore, notAfter });
  const usages = ['server'] as const;
  const names = { commonName: 'registry', ips: ['127.0.0.1'] };
  const tls = await issueCertificate(ca, { ...names, notBefore, notAfter, usages: [...usages] });
  const asked: string[] = [];
  const stalled = new Set<string>();
  const waited = new Set<string>();

  /** A blob of a repository that stalls: its first byte, and nothing more. */
  function stall(repository: string, response: ServerResponse): void {
    waited.add(repository);
    response.on('close', () => waited.delete(repository));
    response.writeHead(200, { 'content-length': endlessBytes });
    response.write('x');
  }

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
    const endless = stalled.has(repository) ? endlessManifest(repository) : undefined;
    if (endless && kind === 'blobs') {
      stall(repository, response);
      return;
    }
    const own = endless ? `sha256:${sha256Hex(endless)}` : manifest!.digest;
    const digest = reference.startsWith('sha256:') ? reference : own;
    const type = kind === 'manifests' ? manifestType : 'application/octet-stream';
    const body = kind === '' ? Buffer.from('{}') : (endless ?? blob(digest));
    response.writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      ...(kind === '' ? {} : { 'docker-content-digest': digest }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  const server = createServer({ cert: tls.certificatePem, key: tls.privateKeyPem }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    asked,
    stall: (repository) => void stalled.add(repository),
    waited,
    configure: (certsDir) => configure(certsDir, host, ca.certificatePem),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      scratch.remove();
    },
  };
}
