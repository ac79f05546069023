// Steps that create and update share: admission, validation, storing and reading back.
import type {
  JsonObject,
  RemoteConversion,
  StrategyContext,
  WrittenRules,
} from '../../apimachinery/declaration.ts';
import { invalidObject, tooLargeBody } from '../../apimachinery/errors.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { withNils } from '../../apimachinery/nil-values.ts';
import { rfc3339 } from '../../base/clock.ts';
import { writeSteps } from '../../base/json-steps.ts';
import { atOnce, atOnceIfPossible, eachInTurn, inSlices, Slice, type Steps } from '../../base/turns.ts';
import { stampedCopy, unstamped } from '../../storage/stamp.ts';
import type { Draft } from '../../storage/storage.ts';
import type { AdmissionRequest } from '../admission/admission.ts';
import { heavyBytes, type RequestContext } from '../request-context.ts';
import { encodeDraft, encodeDraftSteps } from './encode.ts';
import { metadataOf } from './object-meta.ts';
import type { Stored, StoredResource, WriteOptions } from './stored-resource.ts';

export const strategyContext = (
  store: StoredResource,
  namespace: string,
  options: WriteOptions,
): StrategyContext => ({
  now: rfc3339(store.deps.clock.now()),
  namespace,
  subresource: options.subresource,
  user: options.context?.user,
  warn: (text) => options.context?.warn(text),
});

/** What of the object's validation has to be loaded first. */
export const writtenRules = (
  { declaration, deps }: StoredResource,
  object: JsonObject,
  old: JsonObject | undefined,
  context: StrategyContext,
): Promise<WrittenRules> | undefined =>
  (declaration.strategy.rules ?? deps.hooks?.rules)?.(object, old, context);

export const isHeavy = ({ context, heavy }: WriteOptions): boolean => context?.heavy ?? heavy === true;

/** A request for a large object is a heavy one, however little it says itself. */
export function weighed<T extends WriteOptions>(options: T, value: Buffer): T {
  if (value.length <= heavyBytes) return options;
  if (options.context === undefined) return { ...options, heavy: true };
  options.context.heavy = true;
  return options;
}

/** Waited for between two steps of a write of something large; nothing to wait for otherwise. */
export const turnOf = (store: StoredResource, options: WriteOptions): Promise<void> | undefined =>
  isHeavy(options) ? store.deps.turns.take() : undefined;

/** All at once, unless it is something large: then each step has a turn, the first one too. */
export const stepped = <T>(store: StoredResource, options: WriteOptions, steps: Steps<T>): T | Promise<T> =>
  isHeavy(options) ? eachInTurn(steps, store.deps.turns) : atOnceIfPossible(steps);

/** The stored object in the served version. */
export const servedObject = (
  store: StoredResource,
  options: WriteOptions,
  value: Buffer,
): JsonObject | Promise<JsonObject> =>
  store.remote?.isServed(value) === false
    ? store.remote.object(value)
    : isHeavy(options)
      ? eachInTurn(store.servedSteps(value), store.deps.turns)
      : store.served(value);

export interface AdmissionSubject {
  readonly operation: AdmissionRequest['operation'];
  readonly namespace: string;
  readonly name: string;
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
  readonly requestOptions?: JsonObject;
}

/** `end`: its write has ended, one way or the other. */
export type WriteAdmission = AdmissionRequest & { end(): void };

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** What the query says, as the options of the operation. */
function optionsOf(
  { query }: RequestContext,
  operation: AdmissionRequest['operation'],
): JsonObject | undefined {
  if (operation === 'CONNECT') return undefined;
  const options: JsonObject = { kind: optionsKinds[operation], apiVersion: 'meta.k8s.io/v1' };
  const dryRun = query.getAll('dryRun');
  if (dryRun.length > 0) options['dryRun'] = dryRun;
  if (operation === 'DELETE') return options;
  for (const key of ['fieldManager', 'fieldValidation']) {
    const value = query.get(key);
    if (value !== null && value !== '') options[key] = value;
  }
  return options;
}

/** undefined when nobody would look at it, or when the server itself writes. */
export function admissionRequest(
  store: StoredResource,
  subject: AdmissionSubject,
  options: WriteOptions,
): WriteAdmission | undefined {
  const context = options.context;
  if (context === undefined || !store.deps.admission.handles(subject.operation)) return undefined;
  const atEnd: (() => void)[] = [];
  const annotate = (key: string, value: string): void => context.annotate(key, value);
  return {
    operation: subject.operation,
    declaration: store.deps.declaration,
    subresource: options.subresource,
    namespace: subject.namespace,
    name: subject.name,
    object: subject.object,
    oldObject: subject.oldObject,
    user: context.user,
    dryRun: options.dryRun,
    get options() {
      return subject.requestOptions ?? optionsOf(context, subject.operation);
    },
    signal: context.signal,
    aside: (wait) => context.aside(wait),
    reinvocation: { wanted: false, again: false },
    atEnd: (listener) => void atEnd.push(listener),
    end: () => {
      for (const listener of atEnd) listener();
    },
    warn: (text) => context.warn(text),
    took: context.audit && ((layer, ms) => context.audit?.took(layer, ms)),
    annotate,
    annotateContent: (key, value) => {
      if (context.audit?.isTold === true) annotate(key, value());
    },
  };
}

/** Asks the plugins that may change the object. What they made of it in another version has no fields of that. */
export async function askToAdmit(store: StoredResource, admission: WriteAdmission): Promise<void> {
  await store.deps.admission.admit(admission);
  const { object, isConverted } = admission;
  if (isConverted === true && object !== undefined) store.declaration.shown?.prune(object);
}

/** Throws StatusError 422 when the steps find something. */
export function refuseInvalid(
  store: StoredResource,
  options: WriteOptions,
  object: JsonObject,
  validate: Steps<readonly FieldError[]>,
  rules: WrittenRules | undefined,
): void | Promise<void> {
  const steps = refusal(store, object, validate);
  const { clock, turns } = store.deps;
  if (rules === undefined || isHeavy(options)) return stepped(store, options, steps);
  return inSlices(steps, new Slice(turns, () => clock.monotonic()));
}

function* refusal(
  store: StoredResource,
  object: JsonObject,
  validate: Steps<readonly FieldError[]>,
): Steps<void> {
  let errors: readonly FieldError[];
  try {
    errors = yield* validate;
  } catch (error) {
    // A body can hold more faults than one call takes arguments: hundreds of thousands of them.
    if (!(error instanceof RangeError)) throw error;
    errors = [{ type: 'FieldValueTooMany', field: '', message: 'Too many: the object has too many errors' }];
  }
  if (errors.length === 0) return;
  throw invalidObject(store.declaration, String(metadataOf(object)['name'] ?? ''), errors);
}

export function warnAbout(
  store: StoredResource,
  object: JsonObject,
  old: JsonObject | undefined,
  options: WriteOptions,
): void {
  // Nobody can mend a spec by its status.
  if (options.subresource === 'status') return;
  const warnings = store.declaration.strategy.warnings?.(object, old);
  if (warnings) for (const text of warnings) options.context?.warn(text);
}

/** Defaults can make a body ten times as long. etcd takes 1.5 MiB of protobuf; this is the same object as JSON. */
const maxStoredBytes = 4 * 1024 * 1024;

interface Drafted {
  readonly draft: Draft;
  readonly stored: JsonObject;
}

/**
 * In the stored version, as bytes. `admission`: what was asked about it. As upstream, what it made of the object in another
 * version is checked as it came out of the conversion, and has its own version's defaults only where it is read.
 */
export function toDraft(
  store: StoredResource,
  object: JsonObject,
  options: WriteOptions,
  admission?: AdmissionRequest,
): Drafted | Promise<Drafted> {
  const { conversion, remoteConversion: remote, storage, version } = store.declaration;
  const isOther = version !== storage.version;
  if (admission?.isConverted === true && !isOther) store.declaration.shown?.setDefaults(object);
  if (remote !== undefined && isOther) return remoteDraft(store, remote, object, options);
  return draftOf(store, conversion ? conversion.toStorage(object) : object, options);
}

function draftOf(
  store: StoredResource,
  stored: JsonObject,
  options: WriteOptions,
): Drafted | Promise<Drafted> {
  const { storageDeclaration, turns, plans } = store.deps;
  const asGo = store.declaration.writtenAsGo;
  const written = withNils(plans, storageDeclaration.type, stored);
  if (!isHeavy(options))
    return drafted(encodeDraft(atOnce(written), store.cache.currentRevision(), asGo), stored);
  return eachInTurn(draftSteps(written, asGo), turns).then((draft) => drafted(draft, stored));
}

function* draftSteps(written: Steps<JsonObject>, asGo: boolean | undefined): Steps<Draft> {
  return yield* encodeDraftSteps(yield* written, asGo);
}

async function remoteDraft(
  store: StoredResource,
  remote: RemoteConversion,
  object: JsonObject,
  options: WriteOptions,
): Promise<Drafted> {
  const pieces: Buffer[] = [];
  await stepped(
    store,
    options,
    writeSteps(object, (piece) => void pieces.push(Buffer.from(piece))),
  );
  const [stored] = await remote.toStorage([{ object, bytes: Buffer.concat(pieces) }]);
  return draftOf(store, stored!, options);
}

function drafted(draft: Draft, stored: JsonObject): Drafted {
  if (draft.bytes.length > maxStoredBytes) throw tooLargeBody(maxStoredBytes);
  return { draft, stored };
}

/** What a dry run answers: the object with the revision it has now, or none. */
export async function dryRunResult(
  store: StoredResource,
  object: JsonObject,
  revision: number,
  options: WriteOptions,
  admission?: AdmissionRequest,
): Promise<Stored> {
  const { draft } = await toDraft(store, object, options, admission);
  const bytes = revision === 0 ? unstamped(draft) : stampedCopy(draft, String(revision));
  return { value: await store.servedBytes(bytes), revision };
}
