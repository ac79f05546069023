// Keys of a KMS plugin over time: when new ones are taken, how long old ones write, what is asked for again and what is refused.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  encodeEncryptedObject,
  type KmsService,
  type KmsStatus,
  type WrappedKey,
} from '../../rpc-api/kms-v2.ts';
import { KmsForm } from './kms-form.ts';
import { KmsKeys } from './kms-keys.ts';
import type { Cipher, Opened } from './sealed-forms.ts';

const turned = (value: Uint8Array, by: number): Buffer => Buffer.from(value.map((byte) => byte ^ by));
const cipherOf = (key: Buffer): Cipher => ({
  seal: (value) => turned(value, key[0]!),
  open: (sealed) => turned(sealed, key[0]!),
});

class Plugin implements KmsService {
  state: KmsStatus = { version: 'v2', healthz: 'ok', keyId: 'one' };
  answer: Partial<WrappedKey> = {};
  down = false;
  readonly decrypted: string[] = [];
  waiting: Promise<void> | undefined;
  async status(): Promise<KmsStatus> {
    if (this.down) throw Object.assign(new Error('connect ENOENT'), { code: 'Unavailable' });
    return this.state;
  }
  async encrypt(_uid: string, plaintext: Buffer): Promise<WrappedKey> {
    const { keyId } = this.state;
    return { ciphertext: turned(plaintext, 1), keyId, annotations: new Map(), ...this.answer };
  }
  async decrypt(_uid: string, { ciphertext, keyId }: WrappedKey): Promise<Buffer> {
    this.decrypted.push(keyId);
    await this.waiting;
    if (this.down) throw Object.assign(new Error('connect ENOENT'), { code: 'Unavailable' });
    return turned(ciphertext, 1);
  }
}

function begin() {
  const clock = new FakeClock();
  const service = new Plugin();
  let seeds = 0;
  const told: unknown[] = [];
  const ciphers = {
    newSeed: () => Buffer.alloc(32, 100 + ++seeds),
    ofSeed: (seed: Buffer) => {
      if (seed.length < 32) throw new Error(`invalid seed length ${seed.length} used for key generation`);
      return cipherOf(seed);
    },
    ofKey: cipherOf,
    digest: (text: string) => createHash('sha256').update(text).digest('hex'),
  };
  const events = { misnamed: (code: string) => told.push(code), kept: (keys: number) => told.push(keys) };
  const deps = { clock, random: systemRandom, ciphers, events };
  const keys = new KmsKeys('kms', service, deps);
  const formOf = (): KmsForm => new KmsForm('kms', { service, keys, ...deps });
  return { clock, service, keys, told, form: formOf(), formOf };
}

const value = Buffer.from('{"kind":"Secret"}');
const place = '/registry/secrets/default/a';
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};
async function openedBy(form: KmsForm, sealed: Uint8Array): Promise<Opened> {
  return form.open(Buffer.from(sealed), place);
}

test('a value lies beside its wrapped key, and is opened without a question by who wrote it, with one by others', async () => {
  const { keys, form, formOf, service } = begin();
  await keys.start();
  const sealed = form.seal(value, place);
  const { keyId, sourceType, ciphertext, data } = decodeEncryptedObject(sealed);
  assert.deepEqual([keyId, sourceType, ciphertext], ['one', 1, turned(Buffer.alloc(32, 101), 1)]);
  assert.deepEqual(data, turned(value, 101));
  assert.deepEqual(form.open(Buffer.from(sealed), place), { plain: value, lies: form.lies() });
  assert.deepEqual(service.decrypted, []);
  const other = formOf();
  const [one, two] = await Promise.all([openedBy(other, sealed), openedBy(other, sealed)]);
  assert.deepEqual([one.plain, two.plain], [value, value]);
  await openedBy(other, sealed);
  assert.deepEqual(service.decrypted, ['one'], 'once, however many ask');
  keys.stop();
});

test('another key of the plugin is taken within a minute; what lies under the old one is stale', async () => {
  const { clock, service, keys, form } = begin();
  await keys.start();
  const before = form.seal(value, place);
  const lay = (await openedBy(form, before)).lies;
  assert.equal(lay, form.lies());
  service.state = { ...service.state, keyId: 'two' };
  clock.advance(60_000);
  await settled();
  assert.notEqual(form.lies(), lay);
  assert.equal((await openedBy(form, before)).lies, lay);
  assert.equal(decodeEncryptedObject(form.seal(value, place)).keyId, 'two');
  keys.stop();
});

test('a plugin that fails is asked more often; writing goes on for three minutes, reading for good', async () => {
  const { clock, service, keys, form } = begin();
  await keys.start();
  const sealed = form.seal(value, place);
  service.down = true;
  for (let seconds = 0; seconds < 170; seconds += 10) {
    clock.advance(10_000);
    await settled();
  }
  form.seal(value, place);
  await assert.rejects(
    keys.check(),
    /failed to perform status section of the healthz check for KMS Provider kms, error: rpc error: code = Unavailable desc = connect ENOENT/,
  );
  clock.advance(11_000);
  await settled();
  assert.throws(
    () => form.seal(value, place),
    /^Error: encryptedDEKSource with keyID hash "sha256:[0-9a-f]{64}" expired at 2026-01-01T00:03:00Z \(current time is 2026-01-01T00:03:01Z\)$/,
  );
  assert.deepEqual((await openedBy(form, sealed)).plain, value);
  service.down = false;
  clock.advance(10_000);
  await settled();
  form.seal(value, place);
  keys.stop();
});

test('whoever sets the time of day makes no key too old, and none good for longer', async () => {
  const { clock, service, keys, form } = begin();
  await keys.start();
  clock.setBy(3_600_000);
  form.seal(value, place);
  clock.setBy(-48 * 3_600_000);
  form.seal(value, place);
  service.down = true;
  clock.advance(181_000);
  await settled();
  assert.throws(
    () => form.seal(value, place),
    /expired at 2025-12-30T01:03:00Z \(current time is 2025-12-30T01:03:01Z\)$/,
  );
  keys.stop();
});

test('a server that comes before its plugin reads and writes nothing, until the plugin is there', async () => {
  const { clock, service, keys, form } = begin();
  service.down = true;
  await keys.start();
  assert.throws(() => form.seal(value, place), /got unexpected nil transformer/);
  const data = encodeEncryptedObject({
    data: value,
    keyId: 'one',
    ciphertext: Buffer.from('x'),
    annotations: new Map(),
    sourceType: 1,
  });
  await assert.rejects(openedBy(form, data), /got unexpected nil transformer/);
  service.down = false;
  clock.advance(10_000);
  await settled();
  form.seal(value, place);
  keys.stop();
});

test('what a plugin may not say is refused in words, and the key of before goes on', async () => {
  const { clock, service, keys, form, told } = begin();
  await keys.start();
  const well = service.state;
  const table: [Partial<KmsStatus>, Partial<WrappedKey>, RegExp][] = [
    [
      { healthz: 'tired' },
      {},
      /^kmsv2 Provider kms is not healthy, error: got unexpected healthz status: tired$/,
    ],
    [{ healthz: 'x'.repeat(5_000) }, {}, /got unexpected healthz status: x{1024}$/],
    [{ version: 'v3' }, {}, /expected KMSv2 API version v2, got v3/],
    [
      { version: 'v2beta1' },
      {},
      /KMSv2 API version should not change after the initial status response version v2, got v2beta1/,
    ],
    [{ keyId: '' }, {}, /got invalid KMSv2 KeyID hash "": keyID is empty/],
    [
      { keyId: 'k'.repeat(1025) },
      {},
      /got invalid KMSv2 KeyID hash "sha256:[0-9a-f]+": keyID is 1025 bytes, which exceeds the max size of 1024/,
    ],
    [
      { keyId: 'two' },
      { keyId: 'three' },
      /failed to rotate DEK uid="[0-9a-f-]+", useSeed=true, errState=<nil>, errGen=<nil>, statusKeyIDHash="sha256:[0-9a-f]+", encryptKeyIDHash="sha256:[0-9a-f]+", stateKeyIDHash="sha256:/,
    ],
    [
      { keyId: 'two' },
      { ciphertext: Buffer.alloc(0) },
      /errGen=failed to validate encrypted DEK source: encrypted DEK source is empty,/,
    ],
    [
      { keyId: 'two' },
      { ciphertext: Buffer.alloc(1025) },
      /encrypted DEK source is 1025 bytes, which exceeds the max size of 1024,/,
    ],
    [
      { keyId: 'two' },
      { annotations: new Map([['local', Buffer.alloc(1)]]) },
      /failed to validate annotations: annotations: Invalid value: "local": should be a domain with at least two segments separated by dots,/,
    ],
    [
      { keyId: 'two' },
      { annotations: new Map([['a.example.com', Buffer.alloc(32 << 10)]]) },
      /total size of annotations is 32781, which exceeds the max size of 32768,/,
    ],
  ];
  for (const [state, answer, message] of table) {
    clock.advance(20_000);
    service.state = { ...well, ...state };
    service.answer = answer;
    await assert.rejects(keys.check(), (error: Error) => message.test(error.message), String(message));
    assert.equal(decodeEncryptedObject(form.seal(value, place)).keyId, 'one');
    service.state = well;
    service.answer = {};
    clock.advance(20_000);
    await keys.check();
  }
  assert.deepEqual(
    told.filter((one) => typeof one === 'string'),
    ['empty', 'too_long'],
  );
  keys.stop();
});

test('what a plugin says of itself is not asked for again at once, well or not', async () => {
  const { clock, service, keys } = begin();
  let asked = 0;
  const status = service.status.bind(service);
  service.status = () => {
    asked++;
    return status();
  };
  await keys.start();
  await Promise.all([keys.check(), keys.check()]);
  assert.equal(asked, 1);
  clock.advance(20_000);
  await Promise.all([keys.check(), keys.check()]);
  assert.equal(asked, 2);
  service.down = true;
  clock.advance(20_000);
  await assert.rejects(keys.check());
  await assert.rejects(keys.check());
  assert.equal(asked, 3);
  keys.stop();
});

test('stored objects that nobody wrote so are refused, and a plugin that is slow gets sixteen questions together', async () => {
  const { keys, form, formOf, service } = begin();
  await keys.start();
  const object = decodeEncryptedObject(form.seal(value, place));
  const refused: [Partial<EncryptedObject>, RegExp][] = [
    [{ sourceType: 2 }, /unknown encryptedDEKSourceType: 2/],
    [{ data: Buffer.alloc(0) }, /encrypted data is empty/],
    [{ ciphertext: Buffer.alloc(0) }, /failed to validate encrypted DEK source/],
    [{ keyId: '' }, /failed to validate key id: keyID is empty/],
    [{ annotations: new Map([['x'.repeat(100_000), Buffer.alloc(0)]]) }, /annotations are too large/],
  ];
  for (const [fields, message] of refused)
    await assert.rejects(openedBy(form, encodeEncryptedObject({ ...object, ...fields })), message);
  for (const bytes of ['', '\xff\xff\xff', '\x0a\xff\xff\xff\xff\x0f', '\x0b'])
    await assert.rejects(openedBy(form, Buffer.from(bytes, 'latin1')));
  const { promise, resolve } = Promise.withResolvers<void>();
  service.waiting = promise;
  const other = formOf();
  const many = Array.from({ length: 100 }, (_, i) =>
    openedBy(other, encodeEncryptedObject({ ...object, keyId: `k${i}` })),
  );
  await settled();
  assert.equal(service.decrypted.length, 16);
  resolve();
  assert.equal((await Promise.all(many)).length, 100);
  keys.stop();
});

test('a key as it is, which older servers wrote, is read and stale; opened keys are kept for a day', async () => {
  const { clock, keys, form, formOf, service, told } = begin();
  await keys.start();
  const object = decodeEncryptedObject(form.seal(value, place));
  const old = encodeEncryptedObject({ ...object, sourceType: 0 });
  const other = formOf();
  const opened = await openedBy(other, old);
  assert.deepEqual(opened.plain, value);
  assert.notEqual(opened.lies, other.lies());
  clock.advance(25 * 3_600_000);
  await settled();
  await openedBy(other, encodeEncryptedObject({ ...object, keyId: 'another' }));
  assert.equal(told.at(-1), 1, 'what was kept for too long went');
  await openedBy(other, old);
  assert.deepEqual(service.decrypted, ['one', 'another', 'one']);
  keys.stop();
});
