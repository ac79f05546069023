// The pure engines of apimachinery as the endpoints call them: patches, field ownership, protobuf.
import type { Json, JsonObject, ResourceDeclaration, Scheme } from '../../apimachinery/declaration.ts';
import { applySteps, trackUpdateSteps } from '../../apimachinery/fieldmanager/field-manager.ts';
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
import type { FieldTracker } from '../registry/field-manager.ts';
import type { PatchEngines } from './endpoint.ts';

export const patchEngines = (scheme: Scheme): PatchEngines => ({
  json: (live, patch) => jsonPatchSteps(live, patch as Json),
  merge: (live, patch) => applyMergePatch(live, patch as Json),
  strategic: (live, patch, type) => applyStrategicMergePatch(live, patch as Json, scheme, type),
});

/** What a request to this (sub)resource can't write, so nobody owns it through it. */
function resetFields(
  declaration: Pick<ResourceDeclaration, 'hasStatus'>,
  subresource: string,
): readonly (readonly string[])[] {
  if (subresource === 'status') return [['spec']];
  return subresource === '' && declaration.hasStatus ? [['status']] : [];
}

export const fieldTracker = (scheme: Scheme): FieldTracker => ({
  update: ({ declaration, live, object, manager, subresource, now }) =>
    trackUpdateSteps({
      manager,
      subresource,
      apiVersion: apiVersionOf(declaration),
      time: now,
      schema: scheme,
      type: declaration.type,
      resetFields: resetFields(declaration, subresource),
      live,
      result: object,
    }),
  apply: ({ declaration, live, patch, manager, subresource, now, force }) =>
    applySteps({
      manager,
      subresource,
      apiVersion: apiVersionOf(declaration),
      time: now,
      schema: scheme,
      type: declaration.type,
      resetFields: resetFields(declaration, subresource),
      live,
      patch,
      force,
    }),
});

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const protobufCodec = (scheme: Scheme): ProtobufCodec => ({
  decode: (body, fallback) => decodeProtobuf(scheme, body, fallback) as JsonObject,
  encode: (object) => asBuffer(encodeProtobuf(scheme, object)),
  list: (shell, key) => protobufList(scheme, shell, key),
  encodeWatchFrame: (type, object) => asBuffer(encodeWatchFrame(type, object)),
});
