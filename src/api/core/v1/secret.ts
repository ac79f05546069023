// The kind Secret: plain text is folded into the data, the type is Opaque unless said.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { isObject, obj, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateSecret, validateSecretUpdate } from './validate-config.ts';

/** UTF-8 as base64. */
function base64OfText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function applyDefaults(secret: JsonObject): void {
  if (str(secret['type']) === '') secret['type'] = 'Opaque';
  const plain = secret['stringData'];
  if (!isObject(plain)) return;
  // Entries, not assignments: a key may be any text.
  const entries = [
    ...Object.entries(obj(secret['data'])),
    ...Object.entries(plain).map(([k, v]) => [k, base64OfText(str(v))] as const),
  ];
  secret['data'] = Object.fromEntries(entries);
  delete secret['stringData'];
}

export const secret: KindBehaviour = {
  row: (o, now) => [nameCell(o), str(o['type']), String(Object.keys(obj(o['data'])).length), ageCell(o, now)],
  selectableFields: (o) => ({ type: str(o['type']) }),
  strategy: { applyDefaults, validate: validateSecret, validateUpdate: validateSecretUpdate },
};
