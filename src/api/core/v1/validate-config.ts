// ConfigMaps and Secrets: keys, size, type, and being immutable.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, invalid, required, tooLong } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { immutable } from '../../../apimachinery/validation/checks.ts';
import { configMapKey } from '../../../apimachinery/validation/names.ts';
import type { ConfigMap, Secret } from '../../generated/types/core-v1.ts';

const maxBytes = 1024 * 1024;
const encoder = new TextEncoder();
/** There may be ten thousand of a letter each: what needs no encoding is not encoded. */
const utf8 = (text: string): number =>
  /^[\0-\x7f]*$/.test(text) ? text.length : encoder.encode(text).length;
const lengthWithout = (base64: string): number =>
  /[\r\n=]/.test(base64) ? base64.replaceAll(/[\r\n=]/g, '').length : base64.length;
const decodedSize = (base64: string): number => Math.floor((lengthWithout(base64) * 3) / 4);

const keys = (field: string, data: object): Errors =>
  Object.keys(data).flatMap((key) => configMapKey(key).map((why) => invalid(`${field}[${key}]`, key, why)));

export function validateConfigMap(configMap: Decoded<ConfigMap>): Errors {
  const data = configMap.data ?? {};
  const binary = configMap.binaryData ?? {};
  const errors: Errors = [];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    for (const why of configMapKey(key)) errors.push(invalid(`data[${key}]`, key, why));
    if (Object.hasOwn(binary, key))
      errors.push(invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    size += utf8(value ?? '');
  }
  errors.push(...keys('binaryData', binary));
  for (const value of Object.values(binary)) size += decodedSize(value ?? '');
  if (size > maxBytes) errors.push({ ...tooLong('', maxBytes), field: '' });
  return errors;
}

function stays<Kept extends Decoded<ConfigMap | Secret>>(
  object: Kept,
  old: Kept,
  fields: readonly (keyof Kept & string)[],
): Errors {
  if (old.immutable !== true) return [];
  const text = 'field is immutable when `immutable` is set';
  return [
    ...(object.immutable === true ? [] : [forbidden('immutable', text)]),
    ...fields.filter((f) => !semanticEqual(object[f], old[f])).map((f) => forbidden(f, text)),
  ];
}
export const validateConfigMapUpdate = (configMap: Decoded<ConfigMap>, old: Decoded<ConfigMap>): Errors =>
  stays(configMap, old, ['data', 'binaryData']);

/** Keys that a type of secret must have. */
const keysOfType: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};

export function validateSecret(secret: Decoded<Secret>): Errors {
  const data = secret.data ?? {};
  const type = secret.type ?? '';
  const errors = keys('data', data);
  let size = 0;
  for (const value of Object.values(data)) size += decodedSize(value ?? '');
  if (size > maxBytes) errors.push(tooLong('data', maxBytes));
  if (type === 'kubernetes.io/service-account-token') {
    const annotation = 'kubernetes.io/service-account.name';
    if (!secret.metadata?.annotations?.[annotation])
      errors.push(required(`metadata.annotations[${annotation}]`));
  }
  if (
    type === 'kubernetes.io/basic-auth' &&
    !Object.hasOwn(data, 'username') &&
    !Object.hasOwn(data, 'password')
  )
    errors.push(required('data[username]'), required('data[password]'));
  for (const key of Object.hasOwn(keysOfType, type) ? keysOfType[type]! : []) {
    if (!Object.hasOwn(data, key)) errors.push(required(`data[${key}]`));
    else if (key.startsWith('.docker') && !isJsonText(data[key] ?? ''))
      errors.push(invalid(`data[${key}]`, '<secret contents redacted>', 'invalid character in JSON'));
  }
  return errors;
}

function isJsonText(base64: string): boolean {
  try {
    JSON.parse(atob(base64));
    return true;
  } catch {
    return false;
  }
}

export function validateSecretUpdate(secret: Decoded<Secret>, old: Decoded<Secret>): Errors {
  return [
    ...(secret.type === old.type ? [] : [invalid('type', secret.type ?? '', immutable)]),
    ...stays(secret, old, ['data']),
  ];
}
