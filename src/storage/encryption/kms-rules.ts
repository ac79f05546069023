// What a KMS plugin may answer, in upstream's words.
import { fieldErrorText } from '../../apimachinery/field-error.ts';
import { fullyQualifiedDomainName } from '../../apimachinery/validation/checks.ts';
import type { EncryptedObject, KmsAnnotations, WrappedKey } from '../../rpc-api/kms-v2.ts';

const maxAnnotationBytes = 32 * 1024;
const maxKeyIdBytes = 1024;
const maxSourceBytes = 1024;

/** The key is one for AES-GCM as it is: older servers wrote so. */
const keyType = 0;
/** The key is a seed. */
export const seedType = 1;

export type KeyIdFault = 'empty' | 'too_long';

export function keyIdFault(keyId: string): { readonly code: KeyIdFault; readonly why: string } | undefined {
  const bytes = Buffer.byteLength(keyId);
  if (bytes === 0) return { code: 'empty', why: 'keyID is empty' };
  if (bytes <= maxKeyIdBytes) return undefined;
  const why = `keyID is ${bytes} bytes, which exceeds the max size of ${maxKeyIdBytes}`;
  return { code: 'too_long', why };
}

function sourceFault({ length }: Buffer): string | undefined {
  if (length === 0) return 'encrypted DEK source is empty';
  if (length <= maxSourceBytes) return undefined;
  return `encrypted DEK source is ${length} bytes, which exceeds the max size of ${maxSourceBytes}`;
}

function annotationsFault(annotations: KmsAnnotations): string | undefined {
  let total = 0;
  for (const [key, value] of annotations) total += Buffer.byteLength(key) + value.length;
  // Before their names are looked at: there may be very many.
  if (total > maxAnnotationBytes)
    return `total size of annotations is ${total}, which exceeds the max size of ${maxAnnotationBytes}`;
  const errors = [...annotations.keys()].flatMap((key) =>
    fullyQualifiedDomainName('annotations', key).map(fieldErrorText),
  );
  if (errors.length <= 1) return errors[0];
  return `[${errors.slice(0, 10).join(', ')}]`;
}

/** Throws Error for a key that can't be stored. */
export function checkWrappedKey({ ciphertext, keyId, annotations }: WrappedKey): void {
  const source = sourceFault(ciphertext);
  if (source !== undefined) throw new Error(`failed to validate encrypted DEK source: ${source}`);
  const id = keyIdFault(keyId);
  if (id !== undefined) throw new Error(`failed to validate key id: ${id.why}`);
  const about = annotationsFault(annotations);
  if (about !== undefined) throw new Error(`failed to validate annotations: ${about}`);
}

/** Throws Error for what is stored and can't have been written so. */
export function checkEncryptedObject(object: EncryptedObject): void {
  if (object.sourceType !== keyType && object.sourceType !== seedType)
    throw new Error(`unknown encryptedDEKSourceType: ${object.sourceType}`);
  if (object.data.length === 0) throw new Error('encrypted data is empty');
  checkWrappedKey(object);
}
