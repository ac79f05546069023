// Certificates of files: with which the server serves, as whom it asks kubelets, and what the cluster's own clients believe.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { parseYaml } from '../../src/base/yaml.ts';
import { broughtOf, type CredentialFlags } from '../../src/cmd/authentication-options.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { noNames } from '../../src/crypto/alternative-names.ts';
import {
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
  keyUses,
  signCertificate,
} from '../../src/crypto/certificates.ts';
import { subjectOf } from '../../src/crypto/distinguished-name.ts';
import { dates } from '../harness/client-certificates.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** Files are looked at each tenth of it. */
const lifeMs = 12_000;
const ips = ['127.0.0.1', '10.96.0.1'];

interface Files {
  readonly path: string;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly rootCaFile: string;
  readonly authority: KeyPair;
  write(
    commonName: string,
    more?: { readonly ips?: readonly string[]; readonly dnsNames?: readonly string[] },
  ): Promise<void>;
}

async function filesOf(t: TestContext): Promise<Files> {
  const scratch = scratchDirectory('serving');
  t.after(() => scratch.remove());
  const authority = await createCertificateAuthority({ commonName: 'company', ...dates });
  const at = (name: string): string => join(scratch.path, name);
  writeFileSync(at('root.crt'), authority.certificatePem);
  const [tlsCertFile, tlsPrivateKeyFile] = [at('tls.crt'), at('tls.key')];
  return {
    path: scratch.path,
    tlsCertFile,
    tlsPrivateKeyFile,
    rootCaFile: at('root.crt'),
    authority,
    async write(commonName, more = {}) {
      const made = await issueCertificate(authority, {
        commonName,
        usages: ['server'],
        ips,
        ...dates,
        ...more,
      });
      writeFileSync(tlsCertFile, made.certificatePem);
      writeFileSync(tlsPrivateKeyFile, made.privateKeyPem);
    },
  };
}

const start = (path: string, flags: CredentialFlags, log = silentLogger) =>
  startServer({
    dataDir: join(path, 'server'),
    securePort: 0,
    bindAddress: '127.0.0.1',
    certificateMs: lifeMs,
    brought: broughtOf(flags),
    authentication: flags,
    log,
  });

/** As who believes the kubeconfig. */
async function shown(kubeconfig: string, port: number, servername?: string): Promise<string> {
  const { clusters } = parseYaml(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { cluster: { 'certificate-authority-data': string } }[];
  };
  const ca = Buffer.from(clusters[0]!.cluster['certificate-authority-data'], 'base64');
  const socket = connect({
    host: '127.0.0.1',
    port,
    ca,
    ...(servername === undefined ? {} : { servername }),
  });
  await once(socket, 'secureConnect');
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

test('--tls-cert-file is served, believed by who has the kubeconfig, and read again; what none would believe is not taken up', async (t) => {
  const files = await filesOf(t);
  const { tlsCertFile, tlsPrivateKeyFile, rootCaFile } = files;
  await files.write('first');
  const untaken: string[] = [];
  const log = {
    ...silentLogger,
    error: (fields: object) => void untaken.push(String((fields as { error: unknown }).error)),
  };
  const server = await start(files.path, { tlsCertFile, tlsPrivateKeyFile, rootCaFile }, log);
  t.after(() => server.stop());
  const now = (): Promise<string> => shown(server.adminKubeconfig, server.port);
  assert.equal(await now(), 'first');
  await files.write('second');
  await eventually(async () => assert.equal(await now(), 'second'));
  // The next look finds it, and the one after that what comes behind it.
  await files.write('elsewhere', { ips: ['192.0.2.1'] });
  await eventually(() => assert.ok(untaken.some((text) => text.includes('valid for 192.0.2.1, not'))));
  assert.equal(await now(), 'second');
  await files.write('third');
  await eventually(async () => assert.equal(await now(), 'third'));
});

test('--tls-sni-cert-key is for those who ask for its names: everybody else goes on as before', async (t) => {
  const files = await filesOf(t);
  await files.write('named', { dnsNames: ['localhost'] });
  const named = { certFile: files.tlsCertFile, keyFile: files.tlsPrivateKeyFile, names: [] };
  const { rootCaFile } = files;
  const server = await start(files.path, { tlsSniCertKey: [named], rootCaFile });
  t.after(() => server.stop());
  assert.equal(await shown(server.adminKubeconfig, server.port), 'kube-apiserver');
  assert.equal(await shown(server.adminKubeconfig, server.port, 'localhost'), 'named');
});

test('kubelets are asked as the files say, and believed beside those of the own authority', async (t) => {
  const files = await filesOf(t);
  const first = await start(files.path, {});
  const issued = await first.pki.admin();
  await first.stop();
  writeFileSync(files.tlsCertFile, issued.certificatePem);
  writeFileSync(files.tlsPrivateKeyFile, issued.privateKeyPem);
  const server = await start(files.path, {
    kubeletCertificateAuthority: files.rootCaFile,
    kubeletClientCertificate: files.tlsCertFile,
    kubeletClientKey: files.tlsPrivateKeyFile,
  });
  t.after(() => server.stop());
  assert.deepEqual(await server.pki.kubeletClient(), issued);
  const believed = server.pki.kubeletServingCaPem;
  for (const pem of [files.authority.certificatePem, first.pki.kubeletServingCaPem])
    assert.ok(believed.includes(pem.trim()));
});

test('files that are not what their flags say end the start, with the reason', async (t) => {
  const files = await filesOf(t);
  const { tlsCertFile, tlsPrivateKeyFile, rootCaFile } = files;
  const refused = (flags: CredentialFlags, message: RegExp): Promise<void> =>
    assert.rejects(async () => start(files.path, flags), { message });
  await files.write('named');
  await refused({ tlsCertFile }, /^--tls-cert-file: missing filename for serving cert$/);
  await refused(
    { tlsCertFile, tlsPrivateKeyFile },
    /^--tls-cert-file .*: x509: certificate signed by unknown authority: kubeconfigs, nodes and pods /,
  );
  await files.write('named', { ips: ['192.0.2.1'] });
  await refused(
    { tlsCertFile, tlsPrivateKeyFile, rootCaFile },
    /: x509: certificate is valid for 192\.0\.2\.1, not 127\.0\.0\.1: /,
  );
  await refused(
    { kubeletClientCertificate: tlsCertFile, kubeletClientKey: tlsPrivateKeyFile },
    /^--kubelet-client-certificate .*: x509: certificate signed by unknown authority: kubelets /,
  );
  await refused({ kubeletClientKey: tlsPrivateKeyFile }, /go together$/);
  const missing = join(files.path, 'none');
  await refused(
    { tlsCertFile, tlsPrivateKeyFile: missing },
    /^--tls-private-key-file \S*none: ENOENT: no such file or directory/,
  );
  await refused(
    { kubeletClientCertificate: tlsCertFile, kubeletClientKey: missing },
    /^--kubelet-client-key \S*none: ENOENT/,
  );
  await refused(
    { oidcIssuerUrl: 'https://issuer.example.com', oidcClientId: 'cluster', oidcCaFile: missing },
    /^--oidc-ca-file \S*none: ENOENT/,
  );
  const broken = join(files.path, 'broken.crt');
  const junk = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  writeFileSync(broken, `${readFileSync(tlsCertFile, 'utf8')}${junk}`);
  await refused(
    { tlsSniCertKey: [{ certFile: broken, keyFile: tlsPrivateKeyFile, names: ['127.0.0.1'] }] },
    /^--tls-sni-cert-key \S*broken\.crt: tls: OpenSSL takes no such pair: wrong tag$/,
  );
  writeFileSync(tlsPrivateKeyFile, 'x');
  await refused(
    { tlsCertFile, tlsPrivateKeyFile, rootCaFile },
    /: tls: failed to find any PEM data in key input$/,
  );
});

test('a key that is too weak to be served with ends the start: no client would come to an address that has it', async (t) => {
  const files = await filesOf(t);
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile, authority } = files;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const subject = subjectOf('weak');
  const terms = { keyUses, subject, names: noNames, usages: ['server'] as const, ...dates };
  writeFileSync(certFile, await signCertificate(authority, terms, publicKey));
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const tlsSniCertKey = [{ certFile, keyFile, names: ['127.0.0.1'] }];
  await assert.rejects(async () => start(files.path, { tlsSniCertKey }), {
    message: `--tls-sni-cert-key ${certFile}: tls: OpenSSL takes no such pair: ee key too small`,
  });
});
