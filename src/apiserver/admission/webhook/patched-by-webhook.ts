// An object with the patch of a webhook: applied, read as its kind, defaulted.
import type { JsonObject, ResourceDeclaration, Scheme } from '../../../apimachinery/declaration.ts';
import { internalError } from '../../../apimachinery/errors.ts';
import { UndecodableError } from '../../../apimachinery/field-validation.ts';
import type { Json } from '../../../apimachinery/json.ts';
import { copyJson, obj } from '../../../apimachinery/json-access.ts';
import { assertBounded, boundsOf } from '../../../apimachinery/object-bounds.ts';
import { jsonPatchSteps } from '../../../apimachinery/patch/json-patch.ts';
import { parseJsonText } from '../../../apimachinery/serializer/json-text.ts';
import { inTurns } from '../../../base/turns.ts';
import { threadTurns } from '../../../component-base/thread-turns.ts';
import { type DecodeTarget, decodeParsed, targetOf } from '../../registry/decode-body.ts';
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

/** As the webhook sees it; `object` is not changed. undefined: it says nothing. Throws CallingWebhookError and StatusError. */
export async function patchedByWebhook(
  scheme: Scheme,
  invocation: Invocation,
  subresource: string,
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
    const target = targetFor(scheme, invocation.seen, subresource);
    if (target === undefined) return obj(copyJson(patched));
    return decodeParsed(copyJson(patched), scheme, target, { validation: 'Ignore', warn: () => {} });
  } catch (error) {
    throw internalError(error instanceof UndecodableError ? new Error(error.why) : error);
  }
}
