// Errors that the API reports: a Status with code, reason and message, as apimachinery's api/errors.
import type { FieldError } from './field-error.ts';
import { fieldErrorText } from './field-error.ts';

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, never>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** A request's failure; `status` is what goes over the wire. */
export class StatusError extends Error {
  readonly status: Status;
  /** Reason '' (Unknown) is left out, as upstream. */
  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    // An answer, not a fault: nobody reads where it was made, and a stack costs more than the rest of a 404.
    const frames = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = frames;
    this.name = 'StatusError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === '' ? {} : { reason }),
      ...(details ? { details } : {}),
      code,
    };
  }
  get code(): number {
    return this.status.code;
  }
  get reason(): string {
    return this.status.reason ?? '';
  }
}

export const isStatusError = (error: unknown, reason?: string): error is StatusError =>
  error instanceof StatusError && (reason === undefined || error.reason === reason);

/** Rebuilds the error from a Status body that a server sent. */
export function statusErrorFrom(status: Partial<Status>): StatusError {
  return new StatusError(
    status.code ?? 500,
    status.reason ?? 'Unknown',
    status.message ?? 'unknown error',
    status.details,
  );
}

interface Resource {
  readonly group: string;
  readonly resource: string;
}

/** `deployments.apps`, or `pods` for the core group: how messages name a resource. */
const qualified = (r: Resource): string => (r.group === '' ? r.resource : `${r.resource}.${r.group}`);
const about = (r: Resource, name: string): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(r.group === '' ? {} : { group: r.group }),
  kind: r.resource,
});

export const notFound = (r: Resource, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${qualified(r)} ${JSON.stringify(name)} not found`, about(r, name));
export const alreadyExists = (r: Resource, name: string): StatusError =>
  new StatusError(
    409,
    'AlreadyExists',
    `${qualified(r)} ${JSON.stringify(name)} already exists`,
    about(r, name),
  );
/** Upstream says so of whoever gave a prefix, also beside a name. */
export const generatedNameExists = (r: Resource, name: string): StatusError =>
  new StatusError(
    409,
    'AlreadyExists',
    `${qualified(r)} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    { ...about(r, name), retryAfterSeconds: 1 },
  );
export const conflict = (r: Resource, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(r)} ${JSON.stringify(name)}: ${why}`,
    about(r, name),
  );
/** The reason of a stale resourceVersion, upstream's OptimisticLockErrorMsg. */
export const optimisticLock =
  'the object has been modified; please apply your changes to the latest version and try again';
export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);
export const unauthorized = (): StatusError => new StatusError(401, 'Unauthorized', 'Unauthorized');
export const forbidden = (r: Resource, name: string, why: string): StatusError =>
  new StatusError(
    403,
    'Forbidden',
    r.resource === ''
      ? `forbidden: ${why}`
      : name === ''
        ? `${qualified(r)} is forbidden: ${why}`
        : `${qualified(r)} ${JSON.stringify(name)} is forbidden: ${why}`,
    about(r, name),
  );
export const methodNotAllowed = (
  message = 'the server does not allow this method on the requested resource',
): StatusError => new StatusError(405, 'MethodNotAllowed', message, {});
export const notAcceptable = (accepted: readonly string[]): StatusError =>
  new StatusError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${accepted.join(', ')}`,
  );
export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
export const tooLargeBody = (limit: number): StatusError =>
  new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);
export const serviceUnavailable = (message: string): StatusError =>
  new StatusError(503, 'ServiceUnavailable', message);
export const internalError = (cause: unknown): StatusError => {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new StatusError(500, 'InternalError', `Internal error occurred: ${text}`, {
    causes: [{ message: text }],
  });
};
/** As upstream names it: there the core group has no part in a key. */
const upstreamKey = (key: string): string => key.replace(/^\/registry\/core\//, '/registry/');

interface Unreadable {
  readonly key: string;
  readonly revision: number;
  /** Why it can't be opened; undefined: it is no JSON. */
  readonly fault?: string | undefined;
}
/** Of what is stored and can't be read, as the store's own error says it. */
export const corruptObject = ({ key, revision, fault }: Unreadable): StatusError =>
  internalError(
    `StorageError: corrupt object, Code: 7, Key: ${upstreamKey(key)}, ResourceVersion: 0, AdditionalErrorMsg: ${
      fault === undefined
        ? `object not decodable revision=${revision}: the stored bytes are no JSON`
        : `data from the storage is not transformable revision=0: ${fault}`
    }`,
  );
/** Of a list that should show what nobody can open. */
export const untransformableObject = ({
  key,
  fault,
}: {
  readonly key: string;
  readonly fault: string;
}): StatusError => internalError(`unable to transform key ${JSON.stringify(upstreamKey(key))}: ${fault}`);
/** Nobody reads more of them, and an answer must not be many times as long as its request. */
const maxErrors = 1000;
const maxErrorText = 256 * 1024;

function withinReason(errors: readonly FieldError[]): readonly FieldError[] {
  let size = 0;
  for (let i = 0; i < errors.length; i++) {
    size += errors[i]!.field.length + errors[i]!.message.length;
    if (i > 0 && (i >= maxErrors || size > maxErrorText)) return errors.slice(0, i);
  }
  return errors;
}

/** 422 of a kind: `Pod "x" is invalid: spec.y: Required value`. */
export function invalidObject(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  all: readonly FieldError[],
): StatusError {
  const errors = withinReason(all);
  const list =
    errors.length === 1 ? fieldErrorText(errors[0]!) : `[${errors.map(fieldErrorText).join(', ')}]`;
  const id = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError(422, 'Invalid', `${id} ${JSON.stringify(name)} is invalid: ${list}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    kind: kind.kind,
    causes: errors.map((e) => ({ reason: e.type, message: e.message, field: e.field })),
  });
}
