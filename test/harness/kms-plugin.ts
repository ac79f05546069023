// A KMS v2 plugin over a unix socket: it keeps keys by their names, and does well or not what it is asked for.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

const messages = protobuf.parse(
  `syntax = "proto3"; package v2;
   message StatusRequest {}
   message StatusResponse { string version = 1; string healthz = 2; string key_id = 3; }
   message DecryptRequest { bytes ciphertext = 1; string uid = 2; string key_id = 3; map<string, bytes> annotations = 4; }
   message DecryptResponse { bytes plaintext = 1; }
   message EncryptRequest { bytes plaintext = 1; string uid = 2; }
   message EncryptResponse { bytes ciphertext = 1; string key_id = 2; map<string, bytes> annotations = 3; }
   message EncryptedObject { bytes encryptedData = 1; string keyID = 2; bytes encryptedDEKSource = 3;
     map<string, bytes> annotations = 4; int32 encryptedDEKSourceType = 5; }`,
  { keepCase: true },
).root;

export type Fields = Record<string, unknown>;

/** Of bytes of another implementation than the server's own. */
export const readKmsMessage = (name: string, bytes: Uint8Array): Fields => {
  const type = messages.lookupType(`v2.${name}`);
  return type.toObject(type.decode(bytes), { bytes: Buffer, defaults: true });
};
const writeKmsMessage = (name: string, fields: Fields): Buffer => {
  const type = messages.lookupType(`v2.${name}`);
  return Buffer.from(type.encode(type.fromObject(fields)).finish());
};

export interface KmsPlugin {
  readonly endpoint: string;
  /** What Status answers. */
  status: { version: string; healthz: string; key_id: string };
  /** Other answers than the right ones; a promise that never ends hangs. */
  encrypting: ((fields: Fields) => Fields | Promise<Fields>) | undefined;
  decrypting: ((fields: Fields) => Fields | Promise<Fields>) | undefined;
  stating: (() => Fields | Promise<Fields>) | undefined;
  /** Keys that are lost. */
  readonly lost: Set<string>;
  readonly calls: { status: number; encrypt: number; decrypt: number };
  listen(): Promise<void>;
  /** It is gone, with all that is under way. */
  stop(): void;
}

const kek = (id: string): Buffer => Buffer.alloc(32, id);

function wrap(id: string, plain: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', kek(id), nonce);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function unwrap(id: string, wrapped: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', kek(id), wrapped.subarray(0, 12), { authTagLength: 16 });
  decipher.setAuthTag(wrapped.subarray(-16));
  return Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()]);
}

export function kmsPlugin(socket: string): KmsPlugin {
  let server: Server | undefined;
  const plugin: KmsPlugin = {
    endpoint: `unix://${socket}`,
    status: { version: 'v2', healthz: 'ok', key_id: 'key-1' },
    encrypting: undefined,
    decrypting: undefined,
    stating: undefined,
    lost: new Set(),
    calls: { status: 0, encrypt: 0, decrypt: 0 },
    listen: async () => {
      rmSync(socket, { force: true });
      server = serve(plugin);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      );
      await promise;
    },
    stop: () => {
      server?.forceShutdown();
      rmSync(socket, { force: true });
    },
  };
  return plugin;
}

function answers(plugin: KmsPlugin) {
  return {
    Status: () => {
      plugin.calls.status++;
      return plugin.stating?.() ?? plugin.status;
    },
    Encrypt: (fields: Fields) => {
      plugin.calls.encrypt++;
      if (plugin.encrypting !== undefined) return plugin.encrypting(fields);
      const { key_id } = plugin.status;
      const ciphertext = wrap(key_id, fields['plaintext'] as Buffer);
      return { ciphertext, key_id, annotations: { 'version.kms.example.com': Buffer.from('1') } };
    },
    Decrypt: (fields: Fields) => {
      plugin.calls.decrypt++;
      if (plugin.decrypting !== undefined) return plugin.decrypting(fields);
      const id = fields['key_id'] as string;
      if (plugin.lost.has(id)) throw new Error(`no key ${id}`);
      return { plaintext: unwrap(id, fields['ciphertext'] as Buffer) };
    },
  };
}

function serve(plugin: KmsPlugin): Server {
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  const all = answers(plugin);
  const methods = Object.fromEntries(
    Object.keys(all).map((name) => [
      name,
      {
        path: `/v2.KeyManagementService/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: (value: Buffer) => value,
        requestDeserialize: (bytes: Buffer) => readKmsMessage(`${name}Request`, bytes),
        responseSerialize: (fields: Fields) => writeKmsMessage(`${name}Response`, fields),
        responseDeserialize: (value: Buffer) => value,
      },
    ]),
  );
  const handlers = Object.fromEntries(
    Object.entries(all).map(([name, answer]) => [
      name,
      (call: { request: Fields }, done: (error: object | null, value?: Fields) => void) => {
        new Promise<Fields>((resolve) => resolve(answer(call.request) as Fields)).then(
          (value) => done(null, value),
          (error: Error) => done({ code: status.INTERNAL, details: error.message }),
        );
      },
    ]),
  );
  server.addService(methods as never, handlers as never);
  return server;
}
