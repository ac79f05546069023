// The `continue` of a list in pages: upstream's encoding of the next key and the revision of the first page.
import { badRequest } from '../../apimachinery/errors.ts';

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

export function decodeContinue(token: string): ContinueToken {
  const refuse = (why: string): never => {
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`);
  };
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return refuse('illegal base64 data or JSON');
  }
  if (typeof value !== 'object' || value === null) return refuse('json: cannot unmarshal');
  const { v, rv, start } = value as { v?: unknown; rv?: unknown; start?: unknown };
  if (v !== 'meta.k8s.io/v1')
    return refuse(`server does not recognize this encoded version ${JSON.stringify(String(v))}`);
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0)
    return refuse('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '')
    return refuse('encoded start key empty (version meta.k8s.io/v1)');
  if (start.split('/').some((part) => part === '..' || part === '.'))
    return refuse(`${JSON.stringify(start)}`);
  return { revision: rv, start: start.endsWith('\u0000') ? start.slice(0, -1) : start };
}
