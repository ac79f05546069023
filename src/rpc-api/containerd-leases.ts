// containerd's leases: what is written under one is not collected while it is held, and it knows what that is.
import protobuf from 'protobufjs';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { type GrpcClient, type GrpcMethod, withHeaders } from '../wire/grpc-client.ts';

const namespaceHeader = 'containerd-namespace';
const leaseHeader = 'containerd-lease';
const timeoutMs = 30_000;
/** One whose holder was killed ends by itself. */
const expiresAfterMs = 3_600_000;

type Fields = Record<string, protobuf.IField & { keyType?: string; rule?: string }>;

function typeOf(name: string, fields: Fields, nested: Record<string, Fields> = {}): protobuf.Type {
  const inner = Object.fromEntries(Object.entries(nested).map(([key, value]) => [key, { fields: value }]));
  return protobuf.Type.fromJSON(name, { fields, nested: inner });
}

const create = typeOf('CreateRequest', {
  id: { id: 1, type: 'string' },
  labels: { id: 3, type: 'string', keyType: 'string' },
});
const remove = typeOf('DeleteRequest', { id: { id: 1, type: 'string' } });
const list = typeOf('ListResourcesRequest', { id: { id: 1, type: 'string' } });
const resources = typeOf(
  'ListResourcesResponse',
  { resources: { id: 1, type: 'Resource', rule: 'repeated' } },
  { Resource: { id: { id: 1, type: 'string' }, type: { id: 2, type: 'string' } } },
);

function methodOf<R>(
  name: string,
  request: protobuf.Type,
  decode: (bytes: Buffer) => R,
): GrpcMethod<Record<string, unknown>, R> {
  return {
    path: `/containerd.services.leases.v1.Leases/${name}`,
    encode: (value) => Buffer.from(request.encode(request.fromObject(value)).finish()),
    decode,
  };
}

interface Resource {
  readonly id: string;
  readonly type: string;
}

const nothing = (): undefined => undefined;
const createLease = methodOf('Create', create, nothing);
const deleteLease = methodOf('Delete', remove, nothing);
const listResources = methodOf(
  'ListResources',
  list,
  (bytes) =>
    (resources.toObject(resources.decode(bytes), { defaults: true }) as { resources?: Resource[] })
      .resources ?? [],
);

export interface Lease {
  /** Its calls are under the lease. */
  readonly grpc: GrpcClient;
  /** Digests of all content that calls under the lease have written, or found there. */
  content(): Promise<readonly string[]>;
}

export interface LeasePlace {
  readonly namespace: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'uuid'>;
}

/** Holds a lease while `use` works; then what nobody has named may be collected. */
export async function withLease<T>(
  grpc: GrpcClient,
  { clock, namespace, random }: LeasePlace,
  use: (lease: Lease) => Promise<T>,
): Promise<T> {
  const id = `porthole-${random.uuid()}`;
  const inNamespace = withHeaders(grpc, { [namespaceHeader]: namespace });
  const labels = { 'containerd.io/gc.expire': new Date(clock.now() + expiresAfterMs).toISOString() };
  await inNamespace.unary(createLease, { id, labels }, { timeoutMs });
  try {
    return await use({
      grpc: withHeaders(inNamespace, { [leaseHeader]: id }),
      content: async () => {
        const all = await inNamespace.unary(listResources, { id }, { timeoutMs });
        return all.filter(({ type }) => type === 'content').map((resource) => resource.id);
      },
    });
  } finally {
    await inNamespace.unary(deleteLease, { id }, { timeoutMs }).catch(nothing); // it expires
  }
}
