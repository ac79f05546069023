// The Accept header as upstream's negotiation reads it: clauses in the order in which they are tried, and what was tried before.

export interface AcceptClause {
  readonly type: string;
  readonly subType: string;
  readonly parameters: ReadonlyMap<string, string>;
}

interface Weighed extends AcceptClause {
  readonly quality: number;
}

/** What a header of a client may hold; the rest of a longer one is not read. */
const maxClauses = 32;
const maxParameters = 16;

const trimmed = (text: string): string => text.replace(/^ +/, '').replace(/(?<! ) +$/, '');

/** Upstream's order is none that a sort could be told: a wildcard is tried after what is named, whatever its weight. */
function isBefore(a: Weighed, b: Weighed): boolean {
  if (a.quality > b.quality) return true;
  if (a.type !== '*' && b.type === '*') return true;
  return a.subType !== '*' && b.subType === '*';
}

export function parseAccept(header: string): readonly AcceptClause[] {
  const clauses: Weighed[] = [];
  for (const text of header.split(',', maxClauses)) {
    const clause = parseClause(trimmed(text));
    if (clause === undefined) continue;
    let at = clauses.length;
    while (at > 0 && isBefore(clause, clauses[at - 1]!)) at--;
    clauses.splice(at, 0, clause);
  }
  return clauses;
}

/** undefined: names no media type. */
function parseClause(text: string): Weighed | undefined {
  const [name = '', ...rest] = text.split(';', maxParameters);
  const [first = '', second, third] = name.split('/', 3);
  const type = trimmed(first);
  if (third !== undefined && third !== '') return undefined;
  const wild = second === undefined || second === '';
  if (wild && type !== '*') return undefined;
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const part of rest) {
    const [key = '', value = '', more] = part.split('=', 3);
    if (value === '' || (more !== undefined && more !== '')) continue;
    if (trimmed(key) === 'q') quality = numberOf(value);
    else parameters.set(trimmed(key), trimmed(value));
  }
  return { type, subType: wild ? '*' : trimmed(second), quality, parameters };
}

const numberOf = (text: string): number => {
  const value = Number(text);
  return Number.isFinite(value) ? value : 0;
};

/** Clients send a handful of different headers; an attacker may send more. */
const maxKnown = 200;
/** Of characters: a longer one is read anew each time. */
const longestKnown = 1024;

/** `read`, with what it made of the headers that came last. */
export function rememberingHeaders<T>(read: (header: string) => T): (header: string) => T {
  const known = new Map<string, { readonly value: T }>();
  return (header) => {
    const found = known.get(header);
    if (found !== undefined) return found.value;
    const value = read(header);
    if (header.length > longestKnown) return value;
    // The first that came goes first: what a server's clients send comes back at once.
    if (known.size >= maxKnown) known.delete(known.keys().next().value!);
    known.set(header, { value });
    return value;
  };
}
