// Tokens one after the other, and what is said when they do not fit: as the parser generator behind cel-go says it.
import { shownInMessages, type Token, type TokenKind, tokenKinds } from './lexer.ts';
import type { Issues } from './source.ts';

/** There is an issue, and no use in reading on. */
export class SyntaxAbort extends Error {}

/** What an expression can begin with. */
export const startKinds: readonly TokenKind[] = [
  ...(['[', '{', '(', '.', '-', '!', 'true', 'false', 'null'] as const),
  ...(['NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER'] as const),
];
/** What may come behind an operand, besides what closes it. */
const operatorKinds: ReadonlySet<TokenKind> = new Set([
  ...(['==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '?', '+', '*', '/', '%'] as const),
]);

const named = (kind: TokenKind): string =>
  /^[A-Z_]+$/.test(kind) ? (kind === 'EOF' ? '<EOF>' : kind) : `'${kind}'`;
const quoted = (text: string): string => `'${shownInMessages(text)}'`;
function expecting(kinds: readonly TokenKind[]): string {
  if (kinds.length === 1) return named(kinds[0]!);
  const ordered = [...new Set(kinds)].sort((a, b) => tokenKinds.indexOf(a) - tokenKinds.indexOf(b));
  return `{${ordered.map(named).join(', ')}}`;
}

export class TokenStream {
  private readonly tokens: readonly Token[];
  private readonly issues: Issues;
  private at = 0;
  /** What closes that in which we are. */
  private readonly closers: TokenKind[] = [];

  constructor(tokens: readonly Token[], issues: Issues) {
    this.tokens = tokens;
    this.issues = issues;
  }
  get current(): Token {
    return this.tokens[this.at]!;
  }
  get kind(): TokenKind {
    return this.current.kind;
  }
  peek(ahead: number): TokenKind {
    return this.tokens[Math.min(this.at + ahead, this.tokens.length - 1)]!.kind;
  }
  /** The last one stays. */
  next(): Token {
    const token = this.current;
    if (this.at < this.tokens.length - 1) this.at++;
    return token;
  }
  optional(kind: TokenKind): Token | undefined {
    return this.kind === kind ? this.next() : undefined;
  }

  enter(close: TokenKind): void {
    this.closers.push(close);
  }
  leave(): void {
    const close = this.closers.pop()!;
    this.take(close);
  }

  /** One superfluous token is left out, as is a missing bracket: the rest may have faults of its own. */
  take(kind: TokenKind): Token {
    if (this.kind === kind) return this.next();
    if (this.peek(1) === kind && this.kind !== 'EOF') {
      this.say(this.current, `extraneous input ${quoted(this.current.text)} expecting ${expecting([kind])}`);
      this.next();
      return this.next();
    }
    if (this.mayFollow(kind)) {
      this.say(this.current, `missing ${named(kind)} at ${quoted(this.current.text)}`);
      return { kind, text: kind, at: this.current.at };
    }
    return this.mismatch([kind]);
  }

  /** Whether the current token could stand behind a closing bracket that is missing. */
  private mayFollow(kind: TokenKind): boolean {
    if (kind === ':') return startKinds.includes(this.kind);
    if (kind === 'EOF') return false;
    const outer = this.closers.at(-1);
    return (
      operatorKinds.has(this.kind) ||
      this.kind === (outer ?? 'EOF') ||
      (this.kind === ',' && outer !== undefined)
    );
  }

  /** One of these comes, or one comes behind a token that is left out. */
  expect(kinds: readonly TokenKind[]): void {
    if (kinds.includes(this.kind)) return;
    if (this.kind !== 'EOF' && kinds.includes(this.peek(1))) {
      this.say(this.current, `extraneous input ${quoted(this.current.text)} expecting ${expecting(kinds)}`);
      this.next();
    } else this.mismatch(kinds);
  }

  /** Behind `!` or `-`. */
  expectOperand(sign: TokenKind): void {
    const kinds = startKinds.filter((kind) => kind !== '!' && (kind !== '-' || sign === '!'));
    if (kinds.includes(this.kind)) return;
    const before = this.tokens[this.at - 1]!;
    if (sign === '-') this.noAlternative(before);
    this.mismatch(kinds);
  }

  /** The name behind a dot. */
  memberName(dot: Token): Token {
    const { kind } = this;
    if (kind === 'IDENTIFIER' || kind === 'ESC_IDENTIFIER') return this.next();
    if (kind === 'true' || kind === 'false' || kind === 'null') this.mismatch(['IDENTIFIER']);
    return this.noAlternative(dot);
  }

  /** The name that an expression begins with, perhaps behind a dot. */
  primaryName(start: Token): Token {
    return this.kind === 'IDENTIFIER' ? this.next() : this.noAlternative(start);
  }

  fieldName(): Token {
    if (this.kind === 'IDENTIFIER' || this.kind === 'ESC_IDENTIFIER') return this.next();
    return this.mismatch(['IDENTIFIER', 'ESC_IDENTIFIER']);
  }

  private say(token: Token, message: string): void {
    this.issues.report(token.at, `Syntax error: ${message}`);
  }
  private mismatch(kinds: readonly TokenKind[]): never {
    this.say(this.current, `mismatched input ${quoted(this.current.text)} expecting ${expecting(kinds)}`);
    throw new SyntaxAbort();
  }
  /** Told at the token that does not fit, of all since the one where the choice was. */
  private noAlternative(from: Token): never {
    const first = this.tokens.indexOf(from);
    // Blanks between them are not part of the text.
    const text = this.tokens
      .slice(first, this.at + 1)
      .filter((token) => token.kind !== 'EOF')
      .map((token) => token.text)
      .join('');
    this.say(this.current, `no viable alternative at input ${quoted(text)}`);
    throw new SyntaxAbort();
  }
}
