// Keys of what lies sealed in the store, out of their file.
import { readFileSync } from 'node:fs';
import {
  type EncryptionConfiguration,
  type EncryptionKey,
  type EncryptionProvider,
  groupResourceOf,
  readEncryptionConfiguration,
} from '../../api/config/encryption-configuration.ts';
import type { Logger } from '../../component-base/logger.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { aesCbc, aesGcm, type ValueCipher } from '../../crypto/value-ciphers.ts';
import { EncryptedStorage, type FormsOf } from '../../storage/encryption/encryption-at-rest.ts';
import {
  identityForm,
  keyForm,
  keysForm,
  onlyJson,
  type SealedForm,
} from '../../storage/encryption/sealed-forms.ts';
import type { Storage } from '../../storage/storage.ts';

/** Rejects when the file is not there or wrong: a server that wrote plainly what was to be sealed would help nobody. */
export async function readEncryption(file: string): Promise<FormsOf> {
  try {
    return await formsOf(readEncryptionConfiguration(readFileSync(file, 'utf8')));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `--encryption-provider-config: error while parsing file ${JSON.stringify(file)}: ${why}`,
      { cause },
    );
  }
}

export const encrypted = (storage: Storage, forms: FormsOf, log: Logger): Storage =>
  new EncryptedStorage(storage, forms, {
    onSealed: (key, error) =>
      log.error(
        { key, error },
        'a stored value can not be opened: add the key that it was written with to the providers of --encryption-provider-config',
      ),
  });

async function formsOf({ resources }: EncryptionConfiguration): Promise<FormsOf> {
  const rules = new Map<string, SealedForm[]>();
  for (const one of resources) {
    const forms = await Promise.all(one.providers.map(formOf));
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

async function formOf({ aesgcm, aescbc, secretbox }: EncryptionProvider): Promise<SealedForm> {
  if (aesgcm?.keys != null) return keyed('aesgcm', 'AES', aesgcm.keys, aesGcm);
  if (aescbc?.keys != null) return keyed('aescbc', 'AES', aescbc.keys, (key) => onlyJson(aesCbc(key)));
  if (secretbox?.keys != null) {
    const module = await import('../../crypto/secretbox.ts');
    return keyed('secretbox', 'Secretbox', secretbox.keys, module.secretbox);
  }
  return identityForm;
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
