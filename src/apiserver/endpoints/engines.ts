// The pure engines of apimachinery as the endpoints call them: patches, field ownership, protobuf.
import type { Json, JsonObject, Scheme } from '../../apimachinery/declaration.ts';
import { applySteps } from '../../apimachinery/fieldmanager/apply-patch.ts';
import { trackUpdateSteps } from '../../apimachinery/fieldmanager/field-manager.ts';
import type { VersionsOfObject } from '../../apimachinery/fieldmanager/versioned-object.ts';
import { withNils } from '../../apimachinery/nil-values.ts';
import { jsonPatchSteps } from '../../apimachinery/patch/json-patch.ts';
import { applyMergePatch } from '../../apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../apimachinery/patch/strategic-merge-patch.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  encodeWatchFrame,
  protobufList,
} from '../../apimachinery/serializer/protobuf/envelope.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';
import type { FieldTracker, TrackedKind } from '../registry/field-manager.ts';
import { isOutdated, limitsOf, otherVersionsOf } from '../registry/owned-versions.ts';
import type { PatchEngines } from './endpoint.ts';

export const patchEngines = (scheme: Scheme): PatchEngines => ({
  // Its paths may name what is there as null.
  *json(live, patch, type) {
    return yield* jsonPatchSteps(yield* withNils(scheme.plans, type, live), patch as Json);
  },
  merge: (live, patch) => applyMergePatch(live, patch as Json),
  strategic: (live, patch, type) => applyStrategicMergePatch(live, patch as Json, scheme, type),
});

const versionsFor = (
  scheme: Scheme,
  declaration: TrackedKind,
  live: JsonObject | undefined,
  subresource: string,
): VersionsOfObject => ({
  apiVersion: apiVersionOf(declaration),
  schema: scheme,
  type: declaration.type,
  ...limitsOf(declaration, subresource),
  otherVersion: otherVersionsOf(scheme, declaration, subresource),
  outdated: live !== undefined && isOutdated(declaration, live),
});

export const fieldTracker = (scheme: Scheme): FieldTracker => ({
  update: ({ declaration, live, object, manager, subresource, now }) =>
    trackUpdateSteps({
      ...versionsFor(scheme, declaration, live, subresource),
      manager,
      subresource,
      time: now,
      live,
      result: object,
    }),
  apply: ({ declaration, live, patch, manager, subresource, now, force }) =>
    applySteps({
      ...versionsFor(scheme, declaration, live, subresource),
      manager,
      subresource,
      time: now,
      live,
      patch,
      force,
    }),
});

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const protobufCodec = (scheme: Scheme): ProtobufCodec => ({
  decode: (body, expected) => decodeProtobuf(scheme, body, expected) as JsonObject,
  encode: (object) => asBuffer(encodeProtobuf(scheme, object)),
  list: (shell, key) => protobufList(scheme, shell, key),
  encodeWatchFrame: (type, object) => asBuffer(encodeWatchFrame(type, object)),
});
