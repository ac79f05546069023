// External JWT signer v1: what is asked of a program that keeps the keys of service account tokens.
import protobuf from 'protobufjs';
import type { GrpcClient, GrpcMethod } from '../wire/grpc-client.ts';
import { bufferOf, finished, lengthDelimited, nothing, readFields } from './message-fields.ts';

export interface ExternalKey {
  readonly keyId: string;
  /** SubjectPublicKeyInfo, DER. */
  readonly key: Buffer;
  readonly excludeFromOidcDiscovery: boolean;
}

export interface ExternalKeys {
  readonly keys: readonly ExternalKey[];
  /** undefined: it does not say. */
  readonly dataTimestamp: { readonly seconds: number; readonly nanos: number } | undefined;
  readonly refreshHintSeconds: number;
}

export interface SignedPart {
  /** Both as they are in the token. */
  readonly header: string;
  readonly signature: string;
}

/** Throws GrpcError. */
export interface ExternalSignerService {
  metadata(timeoutMs: number): Promise<{ readonly maxTokenExpirationSeconds: number }>;
  fetchKeys(timeoutMs: number): Promise<ExternalKeys>;
  sign(claims: string, timeoutMs: number): Promise<SignedPart>;
}

const method = <Q, R>(
  name: string,
  encode: (request: Q) => Buffer,
  decode: (bytes: Buffer) => R,
): GrpcMethod<Q, R> => ({ path: `/v1.ExternalJWTSigner/${name}`, encode, decode });

/** Of a 64-bit number what can be told apart. */
const int64 = (reader: protobuf.Reader): number => Number(reader.int64());

const metadataMethod = method<undefined, { readonly maxTokenExpirationSeconds: number }>(
  'Metadata',
  () => nothing,
  (bytes) => {
    let maxTokenExpirationSeconds = 0;
    readFields(bytes, {
      1: (reader) => {
        maxTokenExpirationSeconds = int64(reader);
      },
    });
    return { maxTokenExpirationSeconds };
  },
);

function keyOf(bytes: Buffer): ExternalKey {
  const read = { keyId: '', key: nothing, excludeFromOidcDiscovery: false };
  readFields(bytes, {
    1: (reader) => {
      read.keyId = reader.string();
    },
    2: (reader) => {
      read.key = bufferOf(reader);
    },
    3: (reader) => {
      read.excludeFromOidcDiscovery = reader.bool();
    },
  });
  return read;
}

function timestampOf(bytes: Buffer): NonNullable<ExternalKeys['dataTimestamp']> {
  const read = { seconds: 0, nanos: 0 };
  readFields(bytes, {
    1: (reader) => {
      read.seconds = int64(reader);
    },
    2: (reader) => {
      read.nanos = reader.int32();
    },
  });
  return read;
}

const fetchKeysMethod = method<undefined, ExternalKeys>(
  'FetchKeys',
  () => nothing,
  (bytes) => {
    const keys: ExternalKey[] = [];
    let dataTimestamp: ExternalKeys['dataTimestamp'];
    let refreshHintSeconds = 0;
    readFields(bytes, {
      1: (reader) => {
        keys.push(keyOf(bufferOf(reader)));
      },
      2: (reader) => {
        dataTimestamp = timestampOf(bufferOf(reader));
      },
      3: (reader) => {
        refreshHintSeconds = int64(reader);
      },
    });
    return { keys, dataTimestamp, refreshHintSeconds };
  },
);

const signMethod = method<string, SignedPart>(
  'Sign',
  (claims) => finished(protobuf.Writer.create().uint32(lengthDelimited(1)).string(claims)),
  (bytes) => {
    const read = { header: '', signature: '' };
    readFields(bytes, {
      1: (reader) => {
        read.header = reader.string();
      },
      2: (reader) => {
        read.signature = reader.string();
      },
    });
    return read;
  },
);

export const createExternalSignerService = (client: GrpcClient): ExternalSignerService => ({
  metadata: (timeoutMs) => client.unary(metadataMethod, undefined, { timeoutMs, waitForReady: true }),
  fetchKeys: (timeoutMs) => client.unary(fetchKeysMethod, undefined, { timeoutMs, waitForReady: true }),
  sign: (claims, timeoutMs) => client.unary(signMethod, claims, { timeoutMs, waitForReady: true }),
});
