// Creating an object: what the server fills in, what the strategy and admission say, and the retry of generated names.
import type {
  JsonObject,
  ResourceDeclaration,
  StrategyContext,
  WrittenRules,
} from '../../apimachinery/declaration.ts';
import {
  alreadyExists,
  badRequest,
  forbidden,
  generatedNameExists,
  StatusError,
} from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { copyJson, str } from '../../apimachinery/json-access.ts';
import { validateObjectMeta } from '../../apimachinery/validation/object-meta.ts';
import { randomSuffix } from '../../base/random.ts';
import type { Steps } from '../../base/turns.ts';
import { isUnknownOutcome } from '../../storage/watch/store-status.ts';
import { keepOwnership, uniqueOwners } from './after-webhooks.ts';
import { decodeEntry } from './encode.ts';
import { ensureMeta, metadataOf, nameErrors } from './object-meta.ts';
import type { Stored, StoredResource, WriteOptions } from './stored-resource.ts';
import {
  admissionRequest,
  askToAdmit,
  dryRunResult,
  refuseInvalid,
  stepped,
  strategyContext,
  toDraft,
  warnAbout,
  writtenRules,
} from './write-rules.ts';

/** As upstream: a generated name that is taken is tried anew this often. */
const nameAttempts = 8;
/** Upstream cuts the prefix so that name and suffix fit into a DNS label. */
const maxGeneratedPrefix = 58;

/** `authorize`: asked before admission checks what an update or apply would create. */
export async function createObject(
  store: StoredResource,
  namespace: string,
  object: JsonObject,
  options: WriteOptions,
  authorize?: () => Promise<void>,
): Promise<Stored> {
  const metadata = ensureMeta(object);
  checkNamespace(store.declaration, namespace, metadata);
  refuseClearing(store.declaration, str(metadata['name']));
  const generateName = str(metadata['generateName']);
  const generated = str(metadata['name']) === '' && generateName !== '';
  for (let attempt = 1; ; attempt++) {
    const candidate = generated && attempt < nameAttempts ? copyJson(object) : object;
    if (generated)
      ensureMeta(candidate)['name'] =
        generateName.slice(0, maxGeneratedPrefix) + randomSuffix(store.deps.random);
    const result = await createOnce(store, namespace, candidate, options, authorize);
    if (result !== 'exists') return result;
    if (!generated || attempt >= nameAttempts) throw taken(store, namespace, ensureMeta(candidate));
  }
}

/** Whoever waits for the name is told whether it is about to be free. */
function taken({ declaration, cache }: StoredResource, namespace: string, metadata: JsonObject): StatusError {
  const name = str(metadata['name']);
  const isGenerated = str(metadata['generateName']) !== '';
  const error = isGenerated ? generatedNameExists(declaration, name) : alreadyExists(declaration, name);
  const there = cache.get(namespace, name)?.value;
  const isEnding = there !== undefined && metadataOf(decodeEntry(there))['deletionTimestamp'] !== undefined;
  if (!isEnding) return error;
  const { code, reason, message, details } = error.status;
  return new StatusError(code, reason ?? '', `object is being deleted: ${message}`, details);
}

export function checkNamespace(
  { namespaced }: Pick<ResourceDeclaration, 'namespaced'>,
  namespace: string,
  metadata: JsonObject,
): void {
  // As upstream: a namespace that means nothing to the kind is no slip.
  if (!namespaced) {
    delete metadata['namespace'];
    return;
  }
  const sent = str(metadata['namespace']);
  if (sent !== '' && sent !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  metadata['namespace'] = namespace;
}

function fillMeta(
  { declaration }: StoredResource['deps'],
  metadata: JsonObject,
  { now, uid }: { readonly now: string; readonly uid: string },
): void {
  delete metadata['deletionTimestamp'];
  delete metadata['deletionGracePeriodSeconds'];
  delete metadata['selfLink'];
  delete metadata['resourceVersion'];
  delete metadata['generation'];
  metadata['creationTimestamp'] = now;
  metadata['uid'] = uid;
  if (declaration.hasGeneration) metadata['generation'] = 1;
}

/** What was sent, with its defaults, is the client's. As upstream, what plugins add to it is nobody's: an apply leaves it there. */
async function withOwner(
  store: StoredResource,
  object: JsonObject,
  options: WriteOptions,
  now: string,
): Promise<JsonObject> {
  const { declaration, fields } = store.deps;
  const { fieldManager: manager, subresource } = options;
  if (manager === '' || !fields) return object;
  return stepped(
    store,
    options,
    fields.update({ declaration, live: undefined, object, manager, subresource, now }),
  );
}

async function createOnce(
  store: StoredResource,
  namespace: string,
  object: JsonObject,
  options: WriteOptions,
  authorize: (() => Promise<void>) | undefined,
): Promise<Stored | 'exists'> {
  const { declaration, cache, hooks } = store.deps;
  const metadata = ensureMeta(object);
  if (str(metadata['resourceVersion']) !== '')
    throw badRequest('resourceVersion should not be set on objects to be created');
  const context = strategyContext(store, namespace, options);
  const name = str(metadata['name']);
  uniqueOwners(object, options, false);
  const facts = { now: context.now, uid: store.deps.random.uuid() };
  fillMeta(store.deps, metadata, facts);
  const owned = await withOwner(store, object, options, context.now);
  const admission = admissionRequest(
    store,
    { operation: 'CREATE', namespace, name, object: owned, oldObject: undefined },
    options,
  );
  if (admission) await askToAdmit(store, admission);
  const admitted = admission?.object ?? owned;
  if (admission) {
    // A webhook may have sent it elsewhere.
    checkNamespace(store.declaration, namespace, ensureMeta(admitted));
    // Plugins can't change them.
    fillMeta(store.deps, ensureMeta(admitted), facts);
    uniqueOwners(admitted, options, true);
    if (admitted !== owned) await keepOwnership(store, options, admitted, owned, owned);
  }
  if (declaration.hasStatus && !declaration.strategy.keepsStatusOnCreate) delete admitted['status'];
  declaration.strategy.prepareForCreate?.(admitted, context);
  const undo = await hooks?.beforeCreate?.(admitted, { context: options.context, dryRun: options.dryRun });
  /** Undefined: nobody knows. Then what it was given stays its own: others must not get it, too. */
  let isStored: boolean | undefined = false;
  try {
    const rules = await writtenRules(store, admitted, undefined, context);
    await refuseInvalid(store, options, admitted, createErrors(store, admitted, context, rules), rules);
    await authorize?.();
    warnAbout(store, admitted, undefined, options);
    if (admission) {
      admission.object = admitted;
      await store.deps.admission.validate(admission);
    }
    const finalName = str(ensureMeta(admitted)['name']);
    if (options.dryRun) {
      if (cache.get(namespace, finalName)) return 'exists';
      return await dryRunResult(store, admitted, 0, options, admission);
    }
    const { draft, stored } = await toDraft(store, admitted, options, admission);
    const create = (): ReturnType<typeof cache.create> => {
      refuseClearing(declaration, finalName); // Webhooks may have taken their time.
      return cache.create(namespace, finalName, draft, stored);
    };
    const written = await store.written(options, create).catch((error: unknown) => {
      if (isUnknownOutcome(error)) isStored = undefined;
      throw error;
    });
    if (!written.ok) return 'exists';
    isStored = true;
    const { value, revision } = written.entry;
    return { value: await store.servedBytes(value), revision };
  } finally {
    if (isStored === false) await undo?.();
    if (isStored !== undefined) admission?.end();
  }
}

function refuseClearing(declaration: ResourceDeclaration, name: string): void {
  const why = declaration.refusesCreate?.();
  if (why !== undefined) throw forbidden(declaration, name, why);
}

function* createErrors(
  store: StoredResource,
  object: JsonObject,
  context: StrategyContext,
  rules: WrittenRules | undefined,
): Steps<FieldError[]> {
  const { declaration } = store;
  const metadata = ensureMeta(object);
  const name = str(metadata['name']);
  const errors = yield* validateObjectMeta(metadata, declaration);
  for (const why of nameErrors(name)) errors.push(invalid('metadata.name', name, why));
  yield;
  const own = declaration.strategy.validate?.(object) ?? [];
  yield;
  // Mostly there are none; what is wrong in a spec may be tens of thousands of long texts.
  const said = new Set(errors.map(({ field, message }) => `${field}\n${message}`));
  for (const error of own)
    if (said.size === 0 || !said.has(`${error.field}\n${error.message}`)) errors.push(error);
  if (rules) errors.push(...(yield* rules(object, undefined, context, own)));
  return errors;
}
