// containerd's content service, as far as it is asked: what lies in its store already is made known to it.
import protobuf from 'protobufjs';
import { type GrpcMethod, isGrpcError } from '../wire/grpc-client.ts';
import type { Lease } from './containerd-leases.ts';

interface WriteRequest {
  readonly action: number;
  readonly ref: string;
  readonly total: number;
  readonly expected: string;
  readonly offset: number;
}

const commit = 2;
const timeoutMs = 60_000;

const request = protobuf.Type.fromJSON('WriteContentRequest', {
  fields: {
    action: { id: 1, type: 'int32' },
    ref: { id: 2, type: 'string' },
    total: { id: 3, type: 'int64' },
    expected: { id: 4, type: 'string' },
    offset: { id: 5, type: 'int64' },
  },
});

const write: GrpcMethod<WriteRequest, undefined> = {
  path: '/containerd.services.content.v1.Content/Write',
  encode: (value) => Buffer.from(request.encode(request.fromObject({ ...value })).finish()),
  decode: () => undefined,
};

/** Where the store whose root folder this is has a blob. */
export const blobFile = (root: string, digest: string): string =>
  `${root}/io.containerd.content.v1.content/blobs/${digest.replace(':', '/')}`;

/**
 * A blob that lies in the store's folder under its digest becomes one of the namespace, with no byte written: containerd finds
 * it there, says that all of it was written, and takes the commit. Rejects when it finds none.
 */
export async function announceBlob(
  { grpc }: Lease,
  { digest, size }: { readonly digest: string; readonly size: number },
): Promise<void> {
  const ref = `announce-${digest}`;
  const asked = { action: commit, ref, total: size, expected: digest, offset: size };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for await (const _ of grpc.serverStream(write, asked, signal));
    signal.throwIfAborted();
  } catch (error) {
    if (!isGrpcError(error, 'AlreadyExists')) throw error;
  }
}
