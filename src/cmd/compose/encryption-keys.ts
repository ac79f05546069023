// An encryption configuration made into the forms in which values lie, with the KMS plugins that some of them ask.
import {
  type EncryptionConfiguration,
  type EncryptionKey,
  type EncryptionProvider,
  groupResourceOf,
  type KmsConfiguration,
} from '../../api/config/encryption-configuration.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import {
  aesCbc,
  aesGcm,
  newSeed,
  seededAesGcm,
  type ValueCipher,
  wholeAesGcm,
} from '../../crypto/value-ciphers.ts';
import type { FormsOf } from '../../storage/encryption/encryption-at-rest.ts';
import type { KmsKeys } from '../../storage/encryption/kms-keys.ts';
import {
  identityForm,
  keyForm,
  keysForm,
  onlyJson,
  type SealedForm,
} from '../../storage/encryption/sealed-forms.ts';
import type { EncryptionMetrics } from './encryption-metrics.ts';

export interface KeysDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly measures: EncryptionMetrics;
  /** A KMS plugin was asked how it is. */
  checked(provider: string, error: Error | undefined): void;
}

interface KmsProvider {
  readonly keys: KmsKeys;
  readonly timeoutMs: number;
  close(): void;
}

export interface EncryptionKeys {
  readonly formsOf: FormsOf;
  readonly providers: readonly KmsProvider[];
  close(): void;
}

/** What a plugin answers is small: names, and keys that are wrapped. */
const maxAnswerBytes = 128 << 10;

export async function encryptionKeys(
  { resources }: EncryptionConfiguration,
  deps: KeysDependencies,
): Promise<EncryptionKeys> {
  const rules = new Map<string, SealedForm[]>();
  const providers: KmsProvider[] = [];
  for (const one of resources) {
    const forms: SealedForm[] = [];
    for (const provider of one.providers) forms.push(await formOf(provider, deps, providers));
    for (const name of one.resources) {
      const { group, resource } = groupResourceOf(name);
      const rule = `${group === '' ? 'core' : group}/${resource}`;
      rules.set(rule, [...(rules.get(rule) ?? []), ...forms]);
    }
  }
  const plain = [identityForm];
  return {
    providers,
    formsOf: (key) => {
      const [, , group = '', resource = ''] = key.split('/', 4);
      return rules.get(`${group}/${resource}`) ?? rules.get(`${group}/*`) ?? rules.get('*/*') ?? plain;
    },
    close: () => {
      for (const provider of providers) provider.close();
    },
  };
}

async function formOf(
  { aesgcm, aescbc, secretbox, kms }: EncryptionProvider,
  deps: KeysDependencies,
  providers: KmsProvider[],
): Promise<SealedForm> {
  if (aesgcm?.keys != null) return keyed('aesgcm', 'AES', aesgcm.keys, aesGcm);
  if (aescbc?.keys != null) return keyed('aescbc', 'AES', aescbc.keys, (key) => onlyJson(aesCbc(key)));
  if (secretbox?.keys != null) {
    const module = await import('../../crypto/secretbox.ts');
    return keyed('secretbox', 'Secretbox', secretbox.keys, module.secretbox);
  }
  if (kms == null) return identityForm;
  const { form, ...provider } = await kmsProvider(kms, deps);
  providers.push(provider);
  await provider.keys.start();
  return form;
}

function keyed(
  provider: string,
  shown: string,
  keys: readonly EncryptionKey[],
  cipher: (key: Uint8Array) => ValueCipher,
): SealedForm {
  const prefix = `k8s:enc:${provider}:v1:`;
  return keysForm(
    prefix,
    keys.map(({ name, secret }) =>
      keyForm(name, `${prefix}${name}:${sha256Hex(secret)}`, cipher(Buffer.from(secret, 'base64'))),
    ),
    `no matching key was found for the provided ${shown} transformer`,
  );
}

/** gRPC is read only where somebody has a plugin. */
async function kmsProvider(
  { name, endpoint, timeoutMs }: KmsConfiguration,
  { clock, random, measures, checked }: KeysDependencies,
): Promise<KmsProvider & { readonly form: SealedForm }> {
  const [{ createGrpcClient }, { createKmsService }, { KmsKeys: Keys }, { KmsForm }] = await Promise.all([
    import('../../wire/grpc-client.ts'),
    import('../../rpc-api/kms-v2.ts'),
    import('../../storage/encryption/kms-keys.ts'),
    import('../../storage/encryption/kms-form.ts'),
  ]);
  const client = createGrpcClient(clock, endpoint, maxAnswerBytes);
  const service = createKmsService(client, timeoutMs, (path) => measures.call(name, path));
  const ciphers = { newSeed, ofSeed: seededAesGcm, ofKey: wholeAesGcm, digest: sha256Hex };
  const events = { ...measures.eventsOf(name), checked: (error?: Error) => checked(name, error) };
  const keys = new Keys(name, service, { clock, random, ciphers, events });
  return {
    keys,
    timeoutMs,
    form: new KmsForm(name, { service, keys, clock, random, ciphers, events }),
    close: () => {
      keys.stop();
      client.close();
    },
  };
}
