// A program that keeps the keys of service account tokens behind a unix socket, and signs them well or not.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const messages = protobuf.parse(
  `syntax = "proto3"; package v1;
   message SignRequest { string claims = 1; }
   message SignResponse { string header = 1; string signature = 2; }
   message FetchKeysRequest {}
   message Timestamp { int64 seconds = 1; int32 nanos = 2; }
   message Key { string key_id = 1; bytes key = 2; bool exclude_from_oidc_discovery = 3; }
   message FetchKeysResponse { repeated Key keys = 1; Timestamp data_timestamp = 2; int64 refresh_hint_seconds = 3; }
   message MetadataRequest {}
   message MetadataResponse { int64 max_token_expiration_seconds = 1; }`,
  { keepCase: true },
).root;

export interface ToldKey {
  readonly key_id: string;
  readonly key: Buffer;
  readonly exclude_from_oidc_discovery: boolean;
}

export interface ExternalSignerProgram {
  /** Which key signs, by its name. */
  signing: string;
  readonly keys: Map<string, { readonly pair: KeyObject; hidden: boolean }>;
  refreshSeconds: number;
  longestSeconds: number;
  /** Instead of what it would answer. */
  header: ((header: object) => string) | undefined;
  signature: ((signature: string) => string) | undefined;
  told: ((keys: readonly ToldKey[]) => readonly object[]) | undefined;
  readonly calls: { fetch: number; sign: number };
  stop(): void;
}

export const newSigningKey = (): { pair: KeyObject; hidden: boolean } => ({
  pair: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  hidden: false,
});

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function signedBy(program: ExternalSignerProgram, claims: string): object {
  const usual = { alg: 'ES256', kid: program.signing, typ: 'JWT' };
  const header = program.header?.(usual) ?? base64url(usual);
  const key = program.keys.get(program.signing)!.pair;
  const bytes = sign('sha256', Buffer.from(`${header}.${claims}`), { key, dsaEncoding: 'ieee-p1363' });
  const signature = bytes.toString('base64url');
  return { header, signature: program.signature?.(signature) ?? signature };
}

function keysOf(program: ExternalSignerProgram): object {
  const keys = [...program.keys].map(([key_id, { pair, hidden }]) => ({
    key_id,
    key: createPublicKey(pair).export({ type: 'spki', format: 'der' }),
    exclude_from_oidc_discovery: hidden,
  }));
  return {
    keys: program.told?.(keys) ?? keys,
    data_timestamp: { seconds: 1_700_000_000, nanos: 0 },
    refresh_hint_seconds: program.refreshSeconds,
  };
}

type Answer = (fields: { readonly claims?: string }) => object;

function methodOf(name: string, answer: Answer): [object, object] {
  const [asked, told] = ['Request', 'Response'].map((part) => messages.lookupType(`v1.${name}${part}`));
  const definition = {
    path: `/v1.ExternalJWTSigner/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: Buffer) => value,
    requestDeserialize: (bytes: Buffer) => asked!.toObject(asked!.decode(bytes)),
    responseSerialize: (fields: object) => Buffer.from(told!.encode(told!.fromObject(fields)).finish()),
    responseDeserialize: (value: Buffer) => value,
  };
  const handler = (call: { request: object }, done: (error: object | null, value?: object) => void): void => {
    try {
      done(null, answer(call.request));
    } catch (error) {
      done({ code: status.UNKNOWN, details: (error as Error).message });
    }
  };
  return [definition, handler];
}

export async function startExternalSigner(socket: string): Promise<ExternalSignerProgram> {
  const server = new Server();
  const program: ExternalSignerProgram = {
    signing: 'first',
    keys: new Map([['first', newSigningKey()]]),
    refreshSeconds: 3600,
    longestSeconds: 86_400,
    header: undefined,
    signature: undefined,
    told: undefined,
    calls: { fetch: 0, sign: 0 },
    stop: () => server.forceShutdown(),
  };
  const answers: Record<string, Answer> = {
    Sign: ({ claims = '' }) => {
      program.calls.sign++;
      return signedBy(program, claims);
    },
    FetchKeys: () => {
      program.calls.fetch++;
      return keysOf(program);
    },
    Metadata: () => ({ max_token_expiration_seconds: program.longestSeconds }),
  };
  const methods = Object.entries(answers).map(([name, answer]) => [name, methodOf(name, answer)] as const);
  server.addService(
    Object.fromEntries(methods.map(([name, [definition]]) => [name, definition])) as never,
    Object.fromEntries(methods.map(([name, [, handler]]) => [name, handler])) as never,
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
    error ? reject(error) : resolve(),
  );
  await promise;
  return program;
}
