// The `continue` of a list in pages: upstream's encoding of the next key and the revision of the first page.
import { badRequest } from '../../apimachinery/errors.ts';
import { syntaxError } from '../../apimachinery/serializer/json-syntax-error.ts';

export interface ContinueToken {
  /** -1: go on at the newest state. */
  readonly revision: number;
  /** Storage key after which to go on, relative to the resource: `default/foo`. */
  readonly start: string;
}

/** `start` is the last key that was sent; upstream adds a NUL to make the next one. */
export const encodeContinue = (revision: number, lastKey: string): string =>
  Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: `${lastKey}\u0000` })).toString(
    'base64url',
  );

/** Where Go's decoder of URLs stops; undefined: nowhere. */
function base64Fault(token: string): number | undefined {
  const odd = token.search(/[^A-Za-z0-9_-]/);
  if (odd >= 0) return Buffer.byteLength(token.slice(0, odd));
  return token.length % 4 === 1 ? token.length - 1 : undefined;
}

/** A path that Go's path.Clean leaves as it is: it can't lead out of what is listed. */
function isClean(start: string): boolean {
  if (start === '/') return true;
  const parts = (start.startsWith('/') ? start.slice(1) : start).split('/');
  return parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

export function decodeContinue(token: string): ContinueToken {
  const refuse = (why: string): never => {
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
  };
  const fault = base64Fault(token);
  if (fault !== undefined) return refuse(`illegal base64 data at input byte ${fault}`);
  const text = Buffer.from(token, 'base64url').toString();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse(syntaxError(text));
  }
  if (typeof value !== 'object' || value === null) return refuse('json: cannot unmarshal');
  const { v, rv, start } = value as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== 'meta.k8s.io/v1')
    return refuse(`server does not recognize this encoded version ${typeof v === 'string' ? v : ''}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0)
    return refuse('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '')
    return refuse('encoded start key empty (version meta.k8s.io/v1)');
  if (!isClean(start)) return refuse(start);
  return { revision: rv, start: start.endsWith('\u0000') ? start.slice(0, -1) : start };
}
