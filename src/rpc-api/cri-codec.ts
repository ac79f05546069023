// Encodes and decodes CRI v1 messages from the facts in cri-v1.json; no code is generated for them.
import protobuf from 'protobufjs';
import type { GrpcMethod } from '../wire/grpc-client.ts';
import facts from './cri-v1.json' with { type: 'json' };

interface Facts {
  readonly package: string;
  readonly services: Record<
    string,
    Record<string, { request: string; response: string; serverStream: boolean }>
  >;
  readonly messages: Record<
    string,
    { fields?: Record<string, { number: number; type: string; repeated?: boolean }> }
  >;
  readonly enums: Record<string, Record<string, number>>;
}
const cri = facts as unknown as Facts;

const camel = (name: string): string => name.replace(/_([a-zA-Z0-9])/g, (_, c: string) => c.toUpperCase());

function messageDescriptor(name: string): protobuf.IType {
  const fields: Record<string, protobuf.IField & { keyType?: string; rule?: string }> = {};
  for (const [field, { number, type, repeated }] of Object.entries(cri.messages[name]!.fields ?? {})) {
    fields[camel(field)] =
      type === 'map<string,string>'
        ? { id: number, type: 'string', keyType: 'string' }
        : { id: number, type, ...(repeated ? { rule: 'repeated' } : {}) };
  }
  return { fields };
}

function buildRoot(): protobuf.Root {
  const nested: Record<string, protobuf.AnyNestedObject> = {};
  for (const name of Object.keys(cri.messages)) nested[name] = messageDescriptor(name);
  // Nested enums (SecurityProfile.ProfileType) have unique names, so they live at the top here; the bytes are the same.
  for (const [name, values] of Object.entries(cri.enums)) nested[name.split('.').at(-1)!] = { values };
  const whole = protobuf.Root.fromJSON({
    options: { edition: 'proto3' },
    nested: { runtime: { nested: { v1: { nested } } } },
  });
  whole.resolveAll();
  return whole;
}

let root: protobuf.Root | undefined;
const typeOf = (name: string): protobuf.Type => {
  root ??= buildRoot();
  return root.lookupType(`runtime.v1.${name}`);
};

/** Enums as their names, 64-bit numbers as numbers, absent messages as null. */
const shape = { enums: String, longs: Number, bytes: Buffer, defaults: true, arrays: true, objects: true };

export const encodeCri = (message: string, value: object): Buffer => {
  const type = typeOf(message);
  return Buffer.from(type.encode(type.fromObject(value as Record<string, unknown>)).finish());
};

export const decodeCri = (message: string, bytes: Uint8Array): object => {
  const type = typeOf(message);
  return type.toObject(type.decode(bytes), shape as protobuf.IConversionOptions);
};

/** The method of a service, ready for a gRPC client. */
export function criMethod<Q extends object, R>(service: string, method: string): GrpcMethod<Q, R> {
  const signature = cri.services[service]?.[method];
  if (!signature) throw new Error(`CRI has no ${service}.${method}`);
  return {
    path: `/${cri.package}.${service}/${method}`,
    encode: (request) => encodeCri(signature.request, request),
    decode: (bytes) => decodeCri(signature.response, bytes) as R,
  };
}
