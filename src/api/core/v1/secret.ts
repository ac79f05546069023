// The kind Secret: plain text is folded into the data, the type is Opaque unless said.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { Secret } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateSecret, validateSecretUpdate } from './validate-config.ts';

/** UTF-8 as base64. */
function base64OfText(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function applyDefaults(secret: Decoded<Secret>): void {
  if (!secret.type) secret.type = 'Opaque';
  const plain = secret.stringData;
  if (plain === undefined) return;
  // Entries, not assignments: a key may be any text.
  const entries = [
    ...Object.entries(secret.data ?? {}),
    ...Object.entries(plain).map(([k, v]) => [k, base64OfText(v ?? '')] as const),
  ];
  secret.data = Object.fromEntries(entries);
  delete secret.stringData;
}

export const secret: KindBehaviour<Secret> = {
  row: (o, now) => [nameCell(o), o.type ?? '', String(Object.keys(o.data ?? {}).length), ageCell(o, now)],
  selectableFields: (o) => ({ type: o.type ?? '' }),
  strategy: { applyDefaults, validate: validateSecret, validateUpdate: validateSecretUpdate },
};
