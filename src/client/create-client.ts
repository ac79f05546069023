// The client over any transport.
import { isStatusError, statusErrorFrom } from '../apimachinery/errors.ts';
import { apiVersionOf, type ResourceRef } from '../apimachinery/resource-ref.ts';
import type {
  Answer,
  Client,
  Creatable,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  ReadOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import type { ClientMetrics } from './client-metrics.ts';
import { parseLarge } from './parse-large.ts';
import { resourcePath, withQuery } from './resource-path.ts';
import { responseError } from './response-error.ts';
import { readAll, type Transport, type TransportResponse } from './transport.ts';
import { watchEvents } from './watch-stream.ts';

export interface ClientOptions {
  /** `porthole/deployment-controller`: what audit and managedFields show. */
  readonly userAgent?: string;
  /** Asked before each request that may change something; what it throws is thrown instead. */
  readonly beforeWrite?: () => void;
  /** Until a response's headers. Default 60 s, as the server's own limit. */
  readonly requestTimeoutMs?: number;
  readonly metrics?: ClientMetrics | undefined;
}

const maxBodyBytes = 1 << 30;
const maxErrorBytes = 1 << 20;
const partialList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const patchMediaTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

interface HasMetadata {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
}

const metadataOf = (object: unknown): { readonly name?: string; readonly namespace?: string } =>
  (object as HasMetadata).metadata ?? {};
const isSuccess = (status: number): boolean => status >= 200 && status < 300;
const writeQuery = (options: WriteOptions | undefined) => ({
  fieldManager: options?.fieldManager,
  dryRun: options?.dryRun === true ? 'All' : undefined,
});
const listQuery = (options: ListOptions | undefined) => ({
  labelSelector: options?.labelSelector,
  fieldSelector: options?.fieldSelector,
  limit: options?.limit,
  continue: options?.continue,
  resourceVersion: options?.resourceVersion,
});
/** What makes an object self-describing; servers accept it without, other readers do not. */
function withKind(resource: ResourceRef, object: object): object {
  return 'kind' in object && 'apiVersion' in object
    ? object
    : { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}
function deleteBody(options: DeleteOptions | undefined): Buffer | undefined {
  if (options === undefined) return undefined;
  const { gracePeriodSeconds, propagationPolicy, preconditions } = options;
  return Buffer.from(
    JSON.stringify({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      gracePeriodSeconds,
      propagationPolicy,
      preconditions,
    }),
  );
}

interface Send {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer | undefined;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A request's answer, whatever it says. */
function sender(transport: Transport, options: ClientOptions): (send: Send) => Promise<TransportResponse> {
  const timeoutMs = options.requestTimeoutMs ?? 60_000;
  const userAgent = options.userAgent ?? 'porthole';
  return async (send) => {
    const headers: Record<string, string> = {
      accept: send.accept ?? 'application/json',
      'user-agent': userAgent,
    };
    if (send.body !== undefined) {
      headers['content-type'] = send.contentType ?? 'application/json';
      headers['content-length'] = String(send.body.length);
    }
    const { method, path, body, signal } = send;
    let status: number | undefined;
    try {
      const response = await transport.request({ method, path, headers, body, signal, timeoutMs });
      ({ status } = response);
      return response;
    } finally {
      options.metrics?.answered(method, status);
    }
  };
}

/** Throws the error that an answer is. What fails is timed, too: whoever looks for what is slow finds time-outs there. */
function exchanger(
  open: (send: Send) => Promise<TransportResponse>,
  { beforeWrite, metrics }: ClientOptions,
): (send: Send) => Promise<{ status: number; body: Buffer }> {
  return async (send) => {
    if (send.method !== 'GET') beforeWrite?.();
    const began = metrics?.clock.monotonic() ?? 0;
    let size: number | undefined;
    try {
      const { status, body: stream } = await open(send);
      const body = await readAll(stream, isSuccess(status) ? maxBodyBytes : maxErrorBytes);
      size = body.length;
      if (!isSuccess(status)) throw responseError(status, body);
      return { status, body };
    } finally {
      metrics?.took(send.method, began, send.body?.length ?? 0, size);
    }
  };
}

async function* watchWith<T>(
  open: (send: Send) => Promise<TransportResponse>,
  resource: ResourceRef<T>,
  o?: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  // Leaving the loop must end the request, whether or not the caller gave a signal.
  const ended = new AbortController();
  const signal = o?.signal === undefined ? ended.signal : AbortSignal.any([o.signal, ended.signal]);
  const query = {
    watch: true,
    ...listQuery(o),
    allowWatchBookmarks: o?.allowWatchBookmarks,
    timeoutSeconds: o?.timeoutSeconds,
  };
  const path = withQuery(resourcePath(resource, { namespace: o?.namespace }), query);
  try {
    const response = await open({ method: 'GET', path, signal });
    if (!isSuccess(response.status))
      throw responseError(response.status, await readAll(response.body, maxErrorBytes));
    yield* watchEvents<T>(response.body);
  } catch (error) {
    if (o?.signal?.aborted === true && !isStatusError(error)) return;
    throw error;
  } finally {
    ended.abort();
  }
}

async function listWith<T>(
  exchange: ReturnType<typeof exchanger>,
  resource: ResourceRef<T>,
  o?: ReadOptions,
): Promise<ObjectList<T>> {
  const path = withQuery(resourcePath(resource, { namespace: o?.namespace }), listQuery(o));
  const { body } = await exchange({
    method: 'GET',
    path,
    accept: o?.metadataOnly === true ? partialList : undefined,
  });
  return (await parseLarge(body.toString('utf8'))) as ObjectList<T>;
}

export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const open = sender(transport, options);
  const exchange = exchanger(open, options);
  async function call<R>(method: string, path: string, body?: Buffer, contentType?: string): Promise<R> {
    const answer = await exchange({ method, path, body, contentType });
    return (await parseLarge(answer.body.toString('utf8'))) as R;
  }
  async function write<T, O extends WriteOptions>(
    options: O | undefined,
    ...[method, path, body, contentType]: Parameters<typeof call>
  ): Promise<Answer<T, O>> {
    if (options?.unread !== true) return call(method, path, body, contentType);
    await exchange({ method, path, body, contentType });
    return undefined as Answer<T, O>;
  }

  return {
    get: <T>(resource: ResourceRef<T>, key: ObjectKey, o?: GetOptions) =>
      call<T>(
        'GET',
        withQuery(resourcePath(resource, { ...key, subresource: o?.subresource }), o?.query ?? {}),
      ),
    list: <T>(resource: ResourceRef<T>, o?: ReadOptions) => listWith(exchange, resource, o),
    create: <T, O extends WriteOptions>(resource: ResourceRef<T>, object: Creatable<T>, o?: O) => {
      const { name, namespace } = metadataOf(object);
      const path = resourcePath(resource, {
        namespace,
        name: o?.subresource === undefined ? undefined : name,
        subresource: o?.subresource,
      });
      return write<T, O>(o, 'POST', withQuery(path, writeQuery(o)), json(withKind(resource, object)));
    },
    update: <T>(resource: ResourceRef<T>, object: T, o?: WriteOptions) => {
      const { name = '', namespace } = metadataOf(object);
      const path = resourcePath(resource, { namespace, name, subresource: o?.subresource });
      return call<T>('PUT', withQuery(path, writeQuery(o)), json(withKind(resource, object as object)));
    },
    patch: <T, O extends WriteOptions>(resource: ResourceRef<T>, key: ObjectKey, patch: Patch, o?: O) => {
      const query =
        patch.type === 'apply'
          ? { ...writeQuery(o), fieldManager: patch.fieldManager, force: patch.force }
          : writeQuery(o);
      const path = withQuery(resourcePath(resource, { ...key, subresource: o?.subresource }), query);
      return write<T, O>(o, 'PATCH', path, json(patch.body), patchMediaTypes[patch.type]);
    },
    delete: async <T>(resource: ResourceRef<T>, key: ObjectKey, o?: DeleteOptions) => {
      await call('DELETE', resourcePath(resource, key), deleteBody(o));
    },
    deleteCollection: async <T>(resource: ResourceRef<T>, o: ListOptions & DeleteOptions) => {
      const path = resourcePath(resource, { namespace: o.namespace });
      await call('DELETE', withQuery(path, listQuery(o)), deleteBody(o));
    },
    createSubresource: <T>(resource: ResourceRef<T>, key: ObjectKey, subresource: string, body: unknown) =>
      call<unknown>('POST', resourcePath(resource, { ...key, subresource }), json(body)),
    watch: <T>(resource: ResourceRef<T>, o?: WatchOptions) => watchWith(open, resource, o),
    async raw(request) {
      const body =
        request.body === undefined || Buffer.isBuffer(request.body) ? request.body : json(request.body);
      const { method, path, contentType, accept, signal } = request;
      return exchange({ method, path, body, contentType, accept, signal });
    },
  };
}

/** The error that an ERROR event of a watch carries. */
export const watchError = (event: Extract<WatchEvent<unknown>, { type: 'ERROR' }>): Error =>
  statusErrorFrom(event.object);
