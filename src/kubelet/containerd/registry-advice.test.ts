// Which failures of pulls get a next step, and which.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileInfo } from '../../os/files.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { ownImageAdvice, registryAdvice, withRegistryAdvice } from './registry-advice.ts';

const unknownAuthority =
  'failed to do request: Head "https://r.test:5000/v2/a/manifests/1": x509: certificate signed by unknown authority';

test('a registry that is not trusted, speaks no TLS or wants a certificate: where to put what; else nothing is added', () => {
  const rows: [said: string, image: string, next: string | undefined][] = [
    [
      unknownAuthority,
      'r.test:5000/a:1',
      'put the certificate of its authority into /certs.d/r.test:5000/ca.crt',
    ],
    [
      'http: server gave HTTP response to HTTPS client',
      'r.test/a',
      'give it a certificate, or let it be asked without one: [host."http://r.test"] in /certs.d/r.test/hosts.toml',
    ],
    [
      'remote error: tls: bad certificate',
      'a',
      'put a certificate that it takes into /certs.d/docker.io/client.cert, and its key into /certs.d/docker.io/client.key',
    ],
    [
      'failed to do request: Head "https://172.30.0.1:5000/v2/a/manifests/1": dial tcp 172.30.0.1:5000: connect: no route to host',
      '172.30.0.1:5000/a:1',
      'a registry on this machine is reached from clusters that were made with porthole up --allow-machine-access',
    ],
    ['pull access denied, repository does not exist', 'r.test/a', undefined],
    [unknownAuthority, 'Not An Image', undefined],
  ];
  const dir = '/certs.d';
  for (const [said, image, next] of rows)
    assert.equal(registryAdvice(said, image, { dir, isMirrored: false }), next);
  const ofMirror = registryAdvice(unknownAuthority, 'a', { dir, isMirrored: true });
  assert.match(
    ofMirror ?? '',
    /by --registry-mirror docker\.io=, .* in \/certs\.d\/docker\.io\/hosts\.toml$/,
  );
  const unreached = rows[3]!;
  assert.equal(registryAdvice(unreached[0], unreached[1], { dir, isMirrored: true }), unreached[2]);
});

test('code and method of the failure stay', async () => {
  const failing = (error: Error): ImageService =>
    ({
      pullImage: () => Promise.reject(error),
      listImages: () => Promise.resolve([{ repoTags: ['porthole.local/web:ltsc2025'] }]),
    }) as unknown as ImageService;
  const files = {
    stat: async (path: string) => (path === '/own/mirrored.test' ? ({} as FileInfo) : undefined),
  };
  const refusing = failing(new GrpcError('PullImage', 'Unknown', unknownAuthority));
  const refused = withRegistryAdvice(refusing, files, '/own:/c');
  await assert.rejects(
    refused.pullImage({ image: 'mirrored.test/a:1' }, undefined, undefined),
    /forget it by --registry-mirror mirrored\.test=/,
  );
  await assert.rejects(
    refused.pullImage({ image: 'r.test:5000/a:1' }, undefined, undefined),
    (error: unknown) =>
      error instanceof GrpcError &&
      error.code === 'Unknown' &&
      error.method === 'PullImage' &&
      error.message ===
        `${unknownAuthority}; next step: put the certificate of its authority into /c/r.test:5000/ca.crt`,
  );
  const other = new GrpcError('PullImage', 'NotFound', 'no such image');
  await assert.rejects(
    withRegistryAdvice(failing(other), files, '/c').pullImage({ image: 'a' }, undefined, undefined),
    (error) => error === other,
  );
  const lookup = new GrpcError('PullImage', 'Unknown', 'dial tcp: lookup porthole.local: no such host');
  await assert.rejects(
    withRegistryAdvice(failing(lookup), files, '/c').pullImage(
      { image: 'porthole.local/web:ltsc2022' },
      undefined,
      undefined,
    ),
    /^GrpcError: image porthole\.local\/web:ltsc2022 is not on this node; next: name what is there: porthole\.local\/web:ltsc2025 \(dial tcp: lookup/,
  );
});

test('an image of our own that is not there: what builds it, or which of it there is', () => {
  const sample = 'porthole.local/sample/web-windows:ltsc2022';
  assert.equal(
    ownImageAdvice(sample, ['porthole.local/sample/busybox:1']),
    `image ${sample} is not on this node; next: porthole image build-samples`,
  );
  assert.equal(
    ownImageAdvice(sample, [
      'porthole.local/sample/web-windows:ltsc2019',
      'porthole.local/sample/web-windows:ltsc2025',
    ]),
    `image ${sample} is not on this node; next: name what is there: porthole.local/sample/web-windows:ltsc2019, porthole.local/sample/web-windows:ltsc2025`,
  );
  assert.equal(ownImageAdvice('r.test/a:1', []), undefined);
  assert.equal(ownImageAdvice(sample, [sample]), undefined, 'it is there');
});
