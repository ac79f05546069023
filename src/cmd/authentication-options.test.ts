// What files of credentials must hold for a server to start with them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { broughtOf } from './authentication-options.ts';

const root = mkdtempSync(join(tmpdir(), 'credential-flags-'));
after(() => rmSync(root, { recursive: true }));

test('a file that vouches for nobody, or signs nothing, is refused, and named with its flag', () => {
  const [empty, other] = [join(root, 'empty'), join(root, 'other')];
  writeFileSync(empty, '');
  writeFileSync(other, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  const none = 'data does not contain any valid RSA or ECDSA certificates';
  assert.throws(() => broughtOf({ clientCaFile: empty }), { message: `--client-ca-file ${empty}: ${none}` });
  assert.throws(() => broughtOf({ clientCaFile: other }), { message: /^--client-ca-file .*\/other: / });
  assert.throws(() => broughtOf({ requestheaderClientCaFile: empty }), {
    message: `--requestheader-client-ca-file ${empty}: ${none}`,
  });
  assert.throws(() => broughtOf({ serviceAccountSigningKeyFile: other }), {
    message: `--service-account-signing-key-file ${other}: data does not contain a valid RSA or ECDSA private key`,
  });
  assert.throws(() => broughtOf({ clientCaFile: join(root, 'nowhere') }), {
    message: /^--client-ca-file .*\/nowhere: ENOENT/,
  });
});
