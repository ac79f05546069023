// An object with the patch of a webhook: applied, read as its kind, defaulted.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../../apimachinery/declaration.ts';
import { internalError } from '../../../apimachinery/errors.ts';
import { type FieldValidation, UndecodableError } from '../../../apimachinery/field-validation.ts';
import type { Json } from '../../../apimachinery/json.ts';
import { copyJson, obj } from '../../../apimachinery/json-access.ts';
import { assertBounded, boundsOf } from '../../../apimachinery/object-bounds.ts';
import { jsonPatchSteps } from '../../../apimachinery/patch/json-patch.ts';
import { InapplicablePatchError } from '../../../apimachinery/patch/patch-error.ts';
import { parseJsonText } from '../../../apimachinery/serializer/json-text.ts';
import { inTurns } from '../../../base/turns.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import { type DecodeTarget, decodeParsed, targetOf } from '../../registry/decode-body.ts';
import type { AdmissionRequest } from '../admission.ts';
import { CallingWebhookError } from './failures.ts';
import { type Invocation, kindOf } from './matcher.ts';
import type { AdmissionAnswer } from './review-answer.ts';

/** undefined: options of a connect, which come by query only and so have no schema. Whoever reads them takes nothing else. */
export function targetFor(
  scheme: Scheme,
  resource: ResourceDeclaration,
  subresource: string,
): DecodeTarget | undefined {
  const kind = kindOf(resource, subresource);
  if (kind.kind === resource.kind) return targetOf(resource);
  const { group, version } = kind;
  const type = scheme.typeOf(kind);
  if (type === undefined) return undefined;
  return { group, version, kind: kind.kind, type, applyDefaults: scheme.kind(kind)?.strategy.applyDefaults };
}

/** undefined: there is nothing to do. Throws CallingWebhookError. */
function operationsOf({ webhook }: Invocation, { patch, patchType }: AdmissionAnswer): Json[] | undefined {
  if (patch === '') return undefined;
  let operations: Json;
  try {
    operations = parseJsonText(patch).value;
    if (operations === null) return undefined;
    if (!Array.isArray(operations))
      throw new Error('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  } catch (error) {
    const why = (error as Error).message;
    throw new CallingWebhookError(webhook, `received undecodable patch in webhook response: ${why}`, 503);
  }
  if (operations.length === 0) return undefined;
  if (patchType !== 'JSONPatch')
    throw new CallingWebhookError(webhook, `unsupported patch type ${JSON.stringify(patchType)}`, 400);
  return operations;
}

/**
 * As its kind reads what somebody made of an object. Of a custom kind in another version than the request's all that came
 * with it stays: what this version does not know may be the request's. Throws as decodeParsed.
 */
export function readMutated(
  scheme: Scheme,
  { seen, target }: { readonly seen: ResourceDeclaration; readonly target: DecodeTarget },
  { declaration }: Pick<AdmissionRequest, 'declaration'>,
  made: JsonObject,
  validation: FieldValidation,
): JsonObject {
  const options = { validation, warn: () => {} };
  const { shown } = seen;
  if (shown === undefined || seen === declaration || target.kind !== seen.kind)
    return decodeParsed(copyJson(made), scheme, target, options);
  const { apiVersion, kind, metadata, ...rest } = copyJson(made);
  const head = decodeParsed({ apiVersion, kind, metadata } as JsonObject, scheme, target, options);
  const object = {
    kind: head['kind'],
    apiVersion: head['apiVersion'],
    metadata: head['metadata'],
    ...rest,
  } as JsonObject;
  shown.setDefaults(object);
  return object;
}

/** As the webhook sees it; `object` is not changed. undefined: it says nothing. Throws CallingWebhookError and StatusError. */
export async function patchedByWebhook(
  scheme: Scheme,
  invocation: Invocation,
  request: Pick<AdmissionRequest, 'declaration' | 'subresource'>,
  object: JsonObject | undefined,
  answer: AdmissionAnswer,
): Promise<JsonObject | undefined> {
  const operations = operationsOf(invocation, answer);
  if (operations === undefined) return undefined;
  if (object === undefined)
    throw internalError(
      new Error(
        `admission webhook ${JSON.stringify(invocation.webhook.name)} attempted to modify the object, which is not supported for this operation`,
      ),
    );
  try {
    const patched = await inTurns(jsonPatchSteps(object, operations), threadTurns);
    assertBounded(patched, boundsOf(invocation.kind.kind));
    const { seen } = invocation;
    const target = targetFor(scheme, seen, request.subresource);
    if (target === undefined) return obj(copyJson(patched));
    return readMutated(scheme, { seen, target }, request, obj(patched), 'Ignore');
  } catch (error) {
    const isOfThePatch = error instanceof UndecodableError || error instanceof InapplicablePatchError;
    throw internalError(isOfThePatch ? new Error(error.why) : error);
  }
}
