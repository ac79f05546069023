// Text to tree: the grammar of CEL, with cel-go's limits and, for the first syntax error, its words.
import { type Expr, type MapEntry, operators, type StructField } from './ast.ts';
import { lexExpression, type Token, type TokenKind } from './lexer.ts';
import { LiteralError, readInteger, unescapeBytes, unescapeText } from './literal-text.ts';
import { ExprMaker, type Macro, MacroError } from './macros.ts';
import type { Issues } from './source.ts';
import { SyntaxAbort, startKinds, TokenStream } from './token-stream.ts';
import { codePointCount, Uint, type Value } from './value.ts';

const longestExpression = 100_000;
const deepest = 250;

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);
export const isReservedWord = (name: string): boolean => reserved.has(name);

export interface ParserOptions {
  readonly macros: readonly Macro[];
  /** `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`. */
  readonly optionalSyntax: boolean;
  /** Field names in back-quotes. */
  readonly escapedNames: boolean;
}

/** A limit of the whole, not of one place. */
class LimitError extends Error {}

const relations: ReadonlySet<string> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const products: ReadonlySet<string> = new Set(['*', '/', '%']);
const sums: ReadonlySet<string> = new Set(['+', '-']);
const numbers: ReadonlySet<string> = new Set(['NUM_INT', 'NUM_FLOAT']);
const operatorName = (token: Token): string => (token.kind === 'in' ? operators.in : `_${token.text}_`);

/** undefined where there are issues. */
export function parseExpression(text: string, options: ParserOptions, issues: Issues): Expr | undefined {
  const size = codePointCount(text);
  if (size > longestExpression) {
    issues.report(-1, `expression code point size exceeds limit: size: ${size}, limit ${longestExpression}`);
    return undefined;
  }
  try {
    const expr = new Parser(text, options, issues).whole();
    return issues.isEmpty ? expr : undefined;
  } catch (error) {
    if (error instanceof LimitError) issues.report(-1, error.message);
    else if (!(error instanceof SyntaxAbort)) throw error;
    return undefined;
  }
}

class Parser {
  private readonly tokens: TokenStream;
  private readonly options: ParserOptions;
  private readonly issues: Issues;
  private readonly macros: ReadonlyMap<string, Macro>;
  /** How deep rules lie in themselves. */
  private readonly depths = { expr: 0, relation: 0, calc: 0 };
  /** Of what was parsed last: the longest path through its operators, selections and calls. */
  private height = 0;

  constructor(text: string, options: ParserOptions, issues: Issues) {
    this.tokens = new TokenStream(lexExpression(text, issues), issues);
    this.options = options;
    this.issues = issues;
    this.macros = new Map(
      options.macros.map((macro) => [macroKey(macro.name, macro.argumentCount, macro.receiver), macro]),
    );
  }

  whole(): Expr {
    const expr = this.expr();
    this.tokens.take('EOF');
    return expr;
  }

  private nested<T>(rule: 'expr' | 'relation' | 'calc', parse: () => T): T {
    if (++this.depths[rule] > deepest)
      throw new LimitError(`expression recursion limit exceeded: ${deepest}`);
    const result = parse();
    this.depths[rule]--;
    return result;
  }

  private grow(...parts: number[]): void {
    this.height = 1 + Math.max(...parts);
    if (this.height > deepest) throw new LimitError('max recursion depth exceeded');
  }

  private fault(at: number, message: string): Expr {
    this.issues.report(at, message);
    return { kind: 'literal', at, value: null };
  }

  private expr(): Expr {
    return this.nested('expr', () => {
      const condition = this.logical('||', () => this.logical('&&', () => this.relation()));
      const op = this.tokens.optional('?');
      if (!op) return condition;
      const heights = [this.height];
      const whenTrue = this.logical('||', () => this.logical('&&', () => this.relation()));
      heights.push(this.height);
      this.tokens.take(':');
      const whenFalse = this.expr();
      this.grow(...heights, this.height);
      return this.call(op.at, operators.conditional, [condition, whenTrue, whenFalse]);
    });
  }

  /** Terms of a long chain become a balanced tree: a chain would be as deep as it is long. */
  private logical(sign: '&&' | '||', term: () => Expr): Expr {
    const terms = [term()];
    const places: number[] = [];
    let height = this.height;
    for (let op = this.tokens.optional(sign); op; op = this.tokens.optional(sign)) {
      places.push(op.at);
      terms.push(term());
      height = Math.max(height, this.height);
    }
    this.height = height;
    const balanced = (from: number, to: number): Expr => {
      if (from === to) return terms[from]!;
      const middle = (from + to + 1) >> 1;
      return this.call(places[middle - 1]!, `_${sign}_`, [balanced(from, middle - 1), balanced(middle, to)]);
    };
    return balanced(0, terms.length - 1);
  }

  private relation(): Expr {
    return this.nested('relation', () =>
      this.leftToRight(this.calc(1), relations, () => this.nested('relation', () => this.calc(1))),
    );
  }

  /** Sums at level 1, products at level 2. */
  private calc(level: number): Expr {
    return this.nested('calc', () => {
      if (level === 2) return this.leftToRight(this.unary(), products, () => this.unaryOperand());
      const first = this.leftToRight(this.unary(), products, () => this.unaryOperand());
      return this.leftToRight(first, sums, () => this.calc(2));
    });
  }
  private unaryOperand(): Expr {
    return this.nested('calc', () => this.unary());
  }

  private leftToRight(first: Expr, signs: ReadonlySet<string>, operand: () => Expr): Expr {
    let result = first;
    while (signs.has(this.tokens.kind)) {
      const op = this.tokens.next();
      const before = this.height;
      const right = operand();
      this.grow(before, this.height);
      result = this.call(op.at, operatorName(op), [result, right]);
    }
    return result;
  }

  private unary(): Expr {
    this.tokens.expect(startKinds);
    const sign = this.tokens.kind;
    if (sign !== '!' && sign !== '-') return this.member();
    // `-1` is a number.
    if (sign === '-' && numbers.has(this.tokens.peek(1))) return this.member();
    const first = this.tokens.next();
    let count = 1;
    while (this.tokens.optional(sign)) count++;
    this.tokens.expectOperand(sign);
    const operand = this.member();
    if (count % 2 === 0) return operand;
    return this.call(first.at, sign === '!' ? operators.not : operators.negate, [operand]);
  }
  private member(): Expr {
    let result = this.primary();
    for (;;) {
      if (this.tokens.kind === '.') result = this.selection(result);
      else if (this.tokens.kind === '[') result = this.indexed(result);
      else return result;
    }
  }

  private selection(operand: Expr): Expr {
    const height = this.height;
    const dot = this.tokens.next();
    const isOptional = this.tokens.optional('?') !== undefined;
    const name = this.tokens.memberName(dot);
    if (!isOptional && name.kind === 'IDENTIFIER' && this.tokens.kind === '(') {
      const open = this.tokens.next();
      const args = this.args();
      this.grow(height, this.height);
      return this.call(open.at, name.text, args, operand);
    }
    this.grow(height);
    const field = this.fieldName(name, name.at);
    if (!isOptional) return { kind: 'select', at: dot.at, operand, field, test: false };
    if (!this.options.optionalSyntax) return this.fault(dot.at, "unsupported syntax '.?'");
    const literal: Expr = { kind: 'literal', at: name.at, value: field };
    return {
      kind: 'call',
      at: dot.at,
      name: operators.optionalSelect,
      target: undefined,
      args: [operand, literal],
    };
  }

  private fieldName(token: Token, at: number): string {
    if (token.kind !== 'ESC_IDENTIFIER') return token.text;
    if (!this.options.escapedNames) this.issues.report(at, "unsupported syntax: '`'");
    return token.text.slice(1, -1);
  }

  private indexed(operand: Expr): Expr {
    const height = this.height;
    const open = this.tokens.next();
    this.tokens.expect([...startKinds, '?']);
    const isOptional = this.tokens.optional('?') !== undefined;
    const index = this.within(']', () => this.expr());
    this.grow(height, this.height);
    if (isOptional && !this.options.optionalSyntax) return this.fault(open.at, "unsupported syntax '[?'");
    return this.call(open.at, isOptional ? operators.optionalIndex : operators.index, [operand, index]);
  }

  /** What stands before the closing sign, and the sign. */
  private within<T>(close: TokenKind, parse: () => T): T {
    this.tokens.enter(close);
    const result = parse();
    this.tokens.leave();
    return result;
  }

  private primary(): Expr {
    const { kind } = this.tokens;
    if (kind === '(') {
      this.tokens.next();
      return this.within(')', () => this.expr());
    }
    if (kind === '[') return this.list();
    if (kind === '{') return this.map();
    if (kind === '.' || kind === 'IDENTIFIER') return this.named();
    this.tokens.expect(startKinds);
    this.height = 0;
    return this.literal();
  }

  private named(): Expr {
    const start = this.tokens.current;
    const dot = this.tokens.optional('.');
    const token = this.tokens.primaryName(start);
    const name = (dot ? '.' : '') + token.text;
    const struct = this.structName(name);
    if (struct !== undefined) return this.struct(struct);
    if (this.tokens.kind === '(') {
      const open = this.tokens.next();
      const args = this.args();
      if (reserved.has(token.text)) return this.fault(start.at, `reserved identifier: ${token.text}`);
      return this.call(open.at, name, args);
    }
    this.height = 0;
    if (reserved.has(token.text)) return this.fault(start.at, `reserved identifier: ${token.text}`);
    return { kind: 'ident', at: token.at, name };
  }

  /** `a.b.C` before `{`: consumed when that is what stands here. */
  private structName(first: string): string | undefined {
    let ahead = 0;
    while (this.tokens.peek(ahead) === '.' && this.tokens.peek(ahead + 1) === 'IDENTIFIER') ahead += 2;
    if (this.tokens.peek(ahead) !== '{') return undefined;
    let name = first;
    for (let i = 0; i < ahead; i++) name += this.tokens.next().text;
    return name;
  }

  private args(): Expr[] {
    return this.within(')', () => {
      this.height = 0;
      this.tokens.expect([...startKinds, ')']);
      return this.tokens.kind === ')' ? [] : this.separated(() => this.expr());
    });
  }

  /** With a comma between each two; the height is the greatest of theirs. */
  private separated<T>(parse: () => T): T[] {
    const results = [parse()];
    let height = this.height;
    while (this.tokens.optional(',')) {
      results.push(parse());
      height = Math.max(height, this.height);
    }
    this.height = height;
    return results;
  }

  /** The same where a comma may stand at the end, and where nothing may stand at all. */
  private literalItems<T>(close: ']' | '}', starts: readonly TokenKind[], parse: () => T): T[] {
    this.height = 0;
    this.tokens.expect([...starts, ',', close]);
    const results: T[] = [];
    let height = 0;
    while (starts.includes(this.tokens.kind)) {
      results.push(parse());
      height = Math.max(height, this.height);
      if (this.tokens.kind !== ',' || !starts.includes(this.tokens.peek(1))) break;
      this.tokens.next();
    }
    this.height = height;
    this.tokens.expect([',', close]);
    this.tokens.optional(',');
    return results;
  }

  private isOptional(): boolean {
    const mark = this.tokens.optional('?');
    if (mark && !this.options.optionalSyntax) this.issues.report(mark.at, "unsupported syntax '?'");
    return mark !== undefined;
  }

  private list(): Expr {
    const { at } = this.tokens.next();
    const optional = new Set<number>();
    const elements = this.within(']', () => {
      let index = 0;
      return this.literalItems(']', [...startKinds, '?'], () => {
        if (this.isOptional()) optional.add(index);
        index++;
        return this.expr();
      });
    });
    return { kind: 'list', at, elements, optional };
  }

  private map(): Expr {
    const { at } = this.tokens.next();
    const entries = this.within('}', () =>
      this.literalItems('}', [...startKinds, '?'], (): MapEntry => {
        const optional = this.isOptional();
        const key = this.expr();
        const { height } = this;
        const colon = this.tokens.take(':');
        const value = this.expr();
        this.height = Math.max(height, this.height);
        return { at: colon.at, key, value, optional };
      }),
    );
    return { kind: 'map', at, entries };
  }

  private struct(name: string): Expr {
    const { at } = this.tokens.next();
    const fields = this.within('}', () =>
      this.literalItems('}', ['IDENTIFIER', 'ESC_IDENTIFIER', '?'], (): StructField => {
        const optional = this.isOptional();
        const field = this.tokens.fieldName();
        const named = this.fieldName(field, field.at);
        const colon = this.tokens.take(':');
        return { at: colon.at, name: named, value: this.expr(), optional };
      }),
    );
    return { kind: 'struct', at, name, fields };
  }

  private literal(): Expr {
    const { at } = this.tokens.current;
    const negative = this.tokens.optional('-') !== undefined;
    const token = this.tokens.next();
    try {
      return { kind: 'literal', at, value: literalValue(token, negative) };
    } catch (error) {
      if (error instanceof LiteralError) return this.fault(at, error.message);
      throw error;
    }
  }

  private call(at: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const macro = this.macros.get(macroKey(name, args.length, target !== undefined));
    if (macro) {
      try {
        const expanded = macro.expand(new ExprMaker(at), target, args);
        if (expanded) return expanded;
      } catch (error) {
        if (error instanceof MacroError) return this.fault(error.at, error.message);
        throw error;
      }
    }
    return { kind: 'call', at, name, target, args };
  }
}

const macroKey = (name: string, count: number, receiver: boolean): string => `${name}:${count}:${receiver}`;

function literalValue({ kind, text }: Token, negative: boolean): Value {
  switch (kind) {
    case 'NUM_INT': {
      const value = readInteger(text, negative);
      if (BigInt.asIntN(64, value) !== value) throw new LiteralError('invalid int literal');
      return value;
    }
    case 'NUM_UINT': {
      const value = readInteger(text.slice(0, -1), false);
      if (BigInt.asUintN(64, value) !== value) throw new LiteralError('invalid uint literal');
      return new Uint(value);
    }
    case 'NUM_FLOAT': {
      const value = Number(text);
      if (!Number.isFinite(value)) throw new LiteralError('invalid double literal');
      return negative ? -value : value;
    }
    case 'STRING':
      return unescapeText(text);
    case 'BYTES':
      return unescapeBytes(text.slice(1));
    case 'null':
      return null;
    default:
      return kind === 'true';
  }
}
