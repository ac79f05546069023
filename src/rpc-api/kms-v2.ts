// KMS v2: what is asked of a plugin that keeps keys, and the object in which a value lies that was sealed by its help.
import protobuf from 'protobufjs';
import type { GrpcClient, GrpcMethod } from '../wire/grpc-client.ts';
import { bufferOf, type Field, finished, lengthDelimited, nothing, readFields } from './message-fields.ts';

export type KmsAnnotations = ReadonlyMap<string, Buffer>;

export interface KmsStatus {
  readonly version: string;
  readonly healthz: string;
  readonly keyId: string;
}

/** A key as the plugin gives it out, and takes it back. */
export interface WrappedKey {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: KmsAnnotations;
}

/** Each call has the time-out of the provider. */
export interface KmsService {
  status(): Promise<KmsStatus>;
  encrypt(uid: string, plaintext: Buffer): Promise<WrappedKey>;
  decrypt(uid: string, key: WrappedKey): Promise<Buffer>;
}

/** As it is stored. `sourceType` 1: the key is a seed, of which each value has its own key. */
export interface EncryptedObject extends WrappedKey {
  readonly data: Buffer;
  readonly sourceType: number;
}

/** More of them than may be is not read to its end. */
const maxAnnotationBytes = 64 << 10;

function annotationReader(into: Map<string, Buffer>): Field {
  let total = 0;
  return (reader) => {
    const entry = bufferOf(reader);
    total += entry.length + 1;
    if (total > maxAnnotationBytes) throw new Error('annotations are too large');
    let [key, value] = ['', nothing];
    readFields(entry, {
      1: (inner) => {
        key = inner.string();
      },
      2: (inner) => {
        value = bufferOf(inner);
      },
    });
    into.set(key, value);
  };
}

function writeAnnotations(writer: protobuf.Writer, number: number, annotations: KmsAnnotations): void {
  for (const [key, value] of annotations)
    writer
      .uint32(lengthDelimited(number))
      .fork()
      .uint32(lengthDelimited(1))
      .string(key)
      .uint32(lengthDelimited(2))
      .bytes(value)
      .ldelim();
}

export function encodeEncryptedObject(object: EncryptedObject): Buffer {
  const writer = protobuf.Writer.create();
  writer.uint32(lengthDelimited(1)).bytes(object.data);
  writer.uint32(lengthDelimited(2)).string(object.keyId);
  writer.uint32(lengthDelimited(3)).bytes(object.ciphertext);
  writeAnnotations(writer, 4, object.annotations);
  if (object.sourceType !== 0) writer.uint32(5 << 3).int32(object.sourceType);
  return finished(writer);
}

/** Throws Error. */
export function decodeEncryptedObject(bytes: Uint8Array): EncryptedObject {
  const annotations = new Map<string, Buffer>();
  const read = { data: nothing, keyId: '', ciphertext: nothing, sourceType: 0 };
  readFields(bytes, {
    1: (reader) => {
      read.data = bufferOf(reader);
    },
    2: (reader) => {
      read.keyId = reader.string();
    },
    3: (reader) => {
      read.ciphertext = bufferOf(reader);
    },
    4: annotationReader(annotations),
    5: (reader) => {
      read.sourceType = reader.int32();
    },
  });
  return { ...read, annotations };
}

const method = <Q, R>(
  name: string,
  encode: (request: Q) => Buffer,
  decode: (bytes: Buffer) => R,
): GrpcMethod<Q, R> => ({ path: `/v2.KeyManagementService/${name}`, encode, decode });

const statusMethod = method<undefined, KmsStatus>(
  'Status',
  () => nothing,
  (bytes) => {
    const read = { version: '', healthz: '', keyId: '' };
    readFields(bytes, {
      1: (reader) => {
        read.version = reader.string();
      },
      2: (reader) => {
        read.healthz = reader.string();
      },
      3: (reader) => {
        read.keyId = reader.string();
      },
    });
    return read;
  },
);

const encryptMethod = method<{ readonly plaintext: Buffer; readonly uid: string }, WrappedKey>(
  'Encrypt',
  ({ plaintext, uid }) => {
    const writer = protobuf.Writer.create();
    return finished(
      writer.uint32(lengthDelimited(1)).bytes(plaintext).uint32(lengthDelimited(2)).string(uid),
    );
  },
  (bytes) => {
    const annotations = new Map<string, Buffer>();
    const read = { ciphertext: nothing, keyId: '' };
    readFields(bytes, {
      1: (reader) => {
        read.ciphertext = bufferOf(reader);
      },
      2: (reader) => {
        read.keyId = reader.string();
      },
      3: annotationReader(annotations),
    });
    return { ...read, annotations };
  },
);

const decryptMethod = method<{ readonly key: WrappedKey; readonly uid: string }, Buffer>(
  'Decrypt',
  ({ key, uid }) => {
    const writer = protobuf.Writer.create();
    writer.uint32(lengthDelimited(1)).bytes(key.ciphertext).uint32(lengthDelimited(2)).string(uid);
    writer.uint32(lengthDelimited(3)).string(key.keyId);
    writeAnnotations(writer, 4, key.annotations);
    return finished(writer);
  },
  (bytes) => {
    let plaintext = nothing;
    readFields(bytes, {
      1: (reader) => {
        plaintext = bufferOf(reader);
      },
    });
    return plaintext;
  },
);

/** A plugin that comes later is waited for, as long as a call may last. */
export function createKmsService(
  client: GrpcClient,
  timeoutMs: number,
  /** A call begins: what it gives is told how it ended. */
  begin: (path: string) => (error: unknown) => void = () => () => {},
): KmsService {
  const call = async <Q, R>(of: GrpcMethod<Q, R>, request: Q): Promise<R> => {
    const end = begin(of.path);
    try {
      const answer = await client.unary(of, request, { timeoutMs, waitForReady: true });
      end(undefined);
      return answer;
    } catch (error) {
      end(error);
      throw error;
    }
  };
  return {
    status: () => call(statusMethod, undefined),
    encrypt: (uid, plaintext) => call(encryptMethod, { plaintext, uid }),
    decrypt: (uid, key) => call(decryptMethod, { key, uid }),
  };
}
