// The data of a ConfigMap or Secret as bytes, by key.
import type { ConfigMap, Secret } from '../../api/generated/types/core-v1.ts';

export function configMapData(object: ConfigMap): Map<string, Uint8Array> {
  return new Map([
    ...Object.entries(object.data ?? {}).map(([k, v]) => [k, Buffer.from(v)] as const),
    ...Object.entries(object.binaryData ?? {}).map(([k, v]) => [k, Buffer.from(v, 'base64')] as const),
  ]);
}

export const secretData = (object: Secret): Map<string, Uint8Array> =>
  new Map(Object.entries(object.data ?? {}).map(([k, v]) => [k, Buffer.from(v, 'base64')]));
