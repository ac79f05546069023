// Tokens of a file: `token,user,uid,"group1,group2"`, a line each. The file is read once.
import type { TokenAuthenticator } from '../../apiserver/authentication/token-authenticator.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import { sha256Hex } from '../../crypto/digests.ts';

/** One line of RFC 4180; throws for a quote that does not end. */
function fieldsOf(line: string): string[] {
  const fields: string[] = [];
  for (let at = 0; at <= line.length; at++) {
    if (line[at] !== '"') {
      const comma = line.indexOf(',', at);
      const end = comma < 0 ? line.length : comma;
      fields.push(line.slice(at, end).trimStart());
      at = end;
      continue;
    }
    let text = '';
    let from = at + 1;
    for (;;) {
      const quote = line.indexOf('"', from);
      if (quote < 0) throw new Error('extraneous or missing " in quoted-field');
      text += line.slice(from, quote);
      if (line[quote + 1] !== '"') {
        if (quote + 1 < line.length && line[quote + 1] !== ',')
          throw new Error('extraneous or missing " in quoted-field');
        at = quote + 1;
        break;
      }
      text += '"';
      from = quote + 2;
    }
    fields.push(text);
  }
  return fields;
}

/** `text`: of the file. Throws what is wrong with it, and never says a token. */
export function createStaticTokenAuthenticator(text: string): TokenAuthenticator {
  const users = new Map<string, UserInfo>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [token = '', name = '', uid = '', groups = '', ...more] = fieldsOf(line);
    if (line.split(',').length < 3 || more.length > 0)
      throw new Error(
        `token file must have at least 3 columns (token, user name, user uid), and at most a 4th of groups: line ${i + 1}`,
      );
    if (token === '') continue;
    // By their digests: how long a look-up takes says nothing of what is there.
    users.set(sha256Hex(token), {
      name,
      ...(uid === '' ? {} : { uid }),
      groups: groups === '' ? [] : groups.split(',').map((group) => group.trim()),
    });
  }
  return {
    authenticateToken(token, audiences) {
      const user = users.get(sha256Hex(token));
      return user === undefined ? undefined : { user, audiences };
    },
  };
}
