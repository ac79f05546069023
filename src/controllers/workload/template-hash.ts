// A short name for the content of a pod template, stable however its fields are ordered.

/** As upstream's rand.SafeEncodeString: no vowels, so no words. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

const safeEncode = (text: string): string =>
  [...text].map((character) => alphabet[character.charCodeAt(0) % alphabet.length]).join('');

/** JSON with sorted keys and without undefined: the same text for the same content. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
  return `{${fields.join(',')}}`;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** `collisionCount` makes another name when two templates met in one. */
export const templateHash = (template: unknown, collisionCount: number | undefined): string =>
  safeEncode(
    String(fnv1a(canonicalJson(template) + (collisionCount === undefined ? '' : `#${collisionCount}`))),
  );
