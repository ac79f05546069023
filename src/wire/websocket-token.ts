// A bearer token among the subprotocols of a WebSocket: the only place where a page in a browser can put one.
import { isUtf8 } from 'node:buffer';

const prefix = 'base64url.bearer.authorization.k8s.io.';
const base64Url = /^[A-Za-z0-9_-]*$/;

/** undefined: there is none. Nobody says two, says one wrongly, or says nothing else, which could not be answered. */
export type OfferedToken = { readonly token: string } | 'wrong' | undefined;

const namesOf = (header: string): string[] => header.split(',').map((name) => name.trim());

/** `header`: Sec-WebSocket-Protocol. */
export function offeredToken(header: string): OfferedToken {
  if (!header.includes(prefix)) return undefined;
  const names = namesOf(header);
  const [given, ...more] = names.filter((name) => name.startsWith(prefix));
  if (given === undefined) return undefined;
  const text = given.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64url');
  if (more.length > 0 || !base64Url.test(text) || text.length % 4 === 1 || !isUtf8(bytes)) return 'wrong';
  if (bytes.length === 0) return undefined;
  return names.length === 1 ? 'wrong' : { token: bytes.toString() };
}

/** The subprotocols themselves: a token is neither answered with nor passed on. */
export const withoutToken = (header: string): string =>
  header.includes(prefix)
    ? namesOf(header)
        .filter((name) => !name.startsWith(prefix))
        .join(', ')
    : header;
