// Encryption configurations that are wrong: refused in upstream's words, and no key is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEncryptionConfiguration } from './encryption-configuration.ts';

const secret = Buffer.alloc(32, 1).toString('base64');
const read = (resources: string): unknown =>
  readEncryptionConfiguration(
    `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: ${resources}}`,
  );
const key = (value: string): string => `[{aesgcm: {keys: [{name: k, secret: "${value}"}]}}]`;
const rule = (names: string, providers = '[{identity: {}}]'): string =>
  `[{resources: ${names}, providers: ${providers}}]`;

const kms = (fields: string): string =>
  rule('[secrets]', `[{kms: {${fields}, endpoint: "unix:///run/kms.sock"}}]`);

test('what is wrong is named, and no key with it', () => {
  const overlap =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
  const table: [string, string][] = [
    ['[]', 'resources: Required value: at least one resources is required'],
    [rule('[Secrets]'), 'resource name should not contain capital letters'],
    [
      rule('["*"]'),
      "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
    ],
    [rule('["pods.*"]'), 'encrypting the same resource across groups is not supported'],
    [rule('[a, a]'), 'the same resource cannot be specified multiple times'],
    [rule('[secrets, "*."]'), overlap],
    [rule('[a.b, "*.*"]'), overlap],
    [
      rule('[secrets]', '[{}]'),
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    ],
    [
      rule('[secrets]', `[{identity: {}, aesgcm: {keys: [{name: k, secret: "${secret}"}]}}]`),
      'more than one provider specified in a single element',
    ],
    [
      rule('[secrets]', '[{aesgcm: {}}]'),
      'resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required',
    ],
    [rule('[secrets]', '[{aescbc: {keys: [{secret: AA}]}}]'), 'name is a mandatory field for a key'],
    [rule('[secrets]', key('no base 64')), '"REDACTED": secrets must be base64 encoded'],
    [
      rule('[secrets]', key('AAAA')),
      '"REDACTED": secret is not of the expected length, got 3, expected one of [16 24 32]',
    ],
    [
      rule('[secrets]', '[{kms: {name: a, endpoint: "unix:///x"}}]'),
      'kms.apiVersion: Invalid value: "v1": KMSv1 is deprecated',
    ],
    [kms('apiVersion: v3, name: a'), 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2'],
    [kms('apiVersion: v2'), 'kms.name: Required value: name is a mandatory field for a provider'],
    [kms('apiVersion: v2, name: "a:b"'), "invalid KMS provider name a:b, must not contain ':'"],
    [
      kms('apiVersion: v2, name: a, timeout: 0s'),
      'kms.timeout: Invalid value: "0s": timeout should be a positive',
    ],
    [kms('apiVersion: v2, name: a, timeout: soon'), 'timeout should be a positive value'],
    [kms('apiVersion: v2, name: a, cachesize: 5'), 'cachesize is not supported in v2'],
    [
      rule('[secrets]', '[{kms: {apiVersion: v2, name: a}}]'),
      'kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms',
    ],
    [
      rule('[secrets]', '[{kms: {apiVersion: v2, name: a, endpoint: "http://x"}}]'),
      'unsupported scheme "http" for KMS provider, only unix is supported',
    ],
    [
      rule('[secrets]', '[{kms: {apiVersion: v2, name: a, endpoint: "unix://x"}}]'),
      'must name a socket by its whole path',
    ],
    [
      `[${kms('apiVersion: v2, name: a').slice(1, -1)}, ${kms('apiVersion: v2, name: a').slice(1, -1)}]`,
      'resources[1].providers[0].kms.name: Invalid value: "a": duplicate KMS provider name a, names must be unique',
    ],
    [
      rule('[secrets]', '[{aes: {}}]'),
      'strict decoding error: unknown field "resources[0].providers[0].aes"',
    ],
    [
      `[{resources: ["*."], providers: [{identity: {}}]}, {resources: [secrets], providers: [{identity: {}}]}]`,
      'resource "secrets" is masked by earlier rule "*."',
    ],
  ];
  for (const [resources, message] of table)
    assert.throws(
      () => read(resources),
      (error: Error) => error.message.includes(message) && !error.message.includes(secret),
      resources,
    );
  assert.throws(() => readEncryptionConfiguration('kind: Secret'), /no kind "Secret" is registered/);
});

test('no slip of the pen makes a key part of an error', () => {
  const slips: [string, string][] = [
    [`{name: k, secret:${secret}}`, 'aesgcm.keys[0].REDACTED'],
    [`{name: k, ${secret}}`, 'aesgcm.keys[0].REDACTED'],
    [`{name: k, secret: |${secret}}`, 'error converting YAML to JSON: line 1, column '],
    [`{${secret}: a, ${secret}: a}`, 'error converting YAML to JSON: line 1'],
  ];
  for (const [slip, message] of slips)
    assert.throws(
      () => read(rule('[secrets]', `[{aesgcm: {keys: [${slip}]}}]`)),
      (error: Error) =>
        error.message.includes(message) && !error.message.includes(secret) && error.cause === undefined,
      message,
    );
  assert.throws(
    () => read(rule('[secrets]', `[{aesgcm:${secret}}]`)),
    (error: Error) => error.message.includes('providers[0].REDACTED') && !error.message.includes(secret),
  );
  assert.throws(
    () => readEncryptionConfiguration(`kind: EncryptionConfiguration\nkeys: |${secret}\n`),
    (error: Error) => error.message.includes('line 2, column') && !error.message.includes(secret),
  );
});

test('keys of every size, wildcards and the same resource twice are taken', () => {
  for (const bytes of [16, 24, 32])
    read(rule('[secrets, "*.apps"]', key(Buffer.alloc(bytes, 1).toString('base64'))));
  read(`[${rule('[events]').slice(1, -1)}, ${rule('["*.*"]').slice(1, -1)}]`);
});

test('a KMS provider has three seconds for each call unless it says otherwise', () => {
  const timeoutOf = (fields: string): unknown => {
    const { resources } = read(kms(`apiVersion: v2, name: a${fields}`)) as ReturnType<
      typeof readEncryptionConfiguration
    >;
    return resources[0]?.providers[0]?.kms?.timeoutMs;
  };
  assert.equal(timeoutOf(''), 3_000);
  assert.equal(timeoutOf(', timeout: 1m30s'), 90_000);
});
