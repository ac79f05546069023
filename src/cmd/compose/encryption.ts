// Keys of what lies sealed in the store, out of their file.
import { readFileSync } from 'node:fs';
import {
  type EncryptionConfiguration,
  type EncryptionProvider,
  groupResourceOf,
  readEncryptionConfiguration,
} from '../../api/config/encryption-configuration.ts';
import type { Logger } from '../../component-base/logger.ts';
import { aesCbc, aesGcm } from '../../crypto/value-ciphers.ts';
import {
  EncryptedStorage,
  type FormsOf,
  identityForm,
  type SealedForm,
} from '../../storage/encryption-at-rest.ts';
import type { Storage } from '../../storage/storage.ts';

/** Throws when the file is not there or wrong: a server that wrote plainly what was to be sealed would help nobody. */
export function readEncryption(file: string): FormsOf {
  try {
    return formsOf(readEncryptionConfiguration(readFileSync(file, 'utf8')));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `--encryption-provider-config: error while parsing file ${JSON.stringify(file)}: ${why}`,
      { cause },
    );
  }
}

export const encrypted = (storage: Storage, forms: FormsOf, log: Logger): Storage =>
  new EncryptedStorage(storage, forms, (key, error) =>
    log.error(
      { key, error },
      'a stored value can not be opened: add the key that it was written with to the providers of --encryption-provider-config',
    ),
  );

function formsOf({ resources }: EncryptionConfiguration): FormsOf {
  const rules = new Map<string, SealedForm[]>();
  for (const one of resources) {
    const forms = one.providers.flatMap(providerForms);
    for (const name of one.resources) {
      const { group, resource } = groupResourceOf(name);
      const rule = `${group === '' ? 'core' : group}/${resource}`;
      rules.set(rule, [...(rules.get(rule) ?? []), ...forms]);
    }
  }
  const plain = [identityForm];
  return (key) => {
    const [, , group = '', resource = ''] = key.split('/', 4);
    return rules.get(`${group}/${resource}`) ?? rules.get(`${group}/*`) ?? rules.get('*/*') ?? plain;
  };
}

function providerForms({ aesgcm, aescbc }: EncryptionProvider): SealedForm[] {
  for (const [name, cipher, provider] of [
    ['aesgcm', aesGcm, aesgcm],
    ['aescbc', aesCbc, aescbc],
  ] as const)
    if (provider?.keys != null)
      return provider.keys.map((key) => ({
        prefix: Buffer.from(`k8s:enc:${name}:v1:${key.name}:`),
        ...cipher(Buffer.from(key.secret, 'base64')),
      }));
  return [identityForm];
}
