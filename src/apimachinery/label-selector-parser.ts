// Reads the text of a label selector: upstream's lexer and parser, errors included.
import type { Operator, Requirement } from './label-requirement.ts';
import { newRequirement } from './label-requirement.ts';
import { qualifiedNameErrors } from './labels.ts';

type TokenKind =
  | 'identifier'
  | 'error'
  | 'end'
  | '!'
  | '='
  | '=='
  | '!='
  | '('
  | ')'
  | ','
  | '>'
  | '<'
  | 'in'
  | 'notin';
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const special = '=!(),><';
const symbols: readonly string[] = ['!', '=', '==', '!=', '(', ')', ',', '>', '<'];
const space = ' \t\r\n';

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const ch = text[at]!;
    if (space.includes(ch)) {
      at++;
    } else if (special.includes(ch)) {
      // The longest symbol that starts here: `==` before `=`.
      const two = text.slice(at, at + 2);
      const symbol = two.length === 2 && symbols.includes(two) ? two : ch;
      tokens.push({ kind: symbol as TokenKind, text: symbol });
      at += symbol.length;
    } else {
      const start = at;
      while (at < text.length && !special.includes(text[at]!) && !space.includes(text[at]!)) at++;
      const word = text.slice(start, at);
      tokens.push({ kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word });
    }
  }
  return tokens;
}

class Parser {
  readonly tokens: readonly Token[];
  at = 0;
  constructor(tokens: readonly Token[]) {
    this.tokens = tokens;
  }
  /** As a value, `in` and `notin` are plain words. */
  peek(): Token {
    const token = this.tokens[this.at] ?? { kind: 'end', text: '' };
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
  }
  take(): Token {
    const token = this.peek();
    this.at++;
    return token;
  }
  takeOperator(): Token {
    const token = this.tokens[this.at] ?? { kind: 'end', text: '' };
    this.at++;
    return token;
  }
}

/** Requirements and values of one query: a watch keeps them as long as it lasts. */
const maxTerms = 500;

export function parseRequirements(text: string): Requirement[] {
  const parser = new Parser(tokenize(text));
  const requirements: Requirement[] = [];
  let terms = 0;
  for (;;) {
    const token = parser.peek();
    if (token.kind === 'end') return requirements;
    if (token.kind !== 'identifier' && token.kind !== '!')
      throw new Error(`found '${token.text}', expected: !, identifier, or 'end of string'`);
    try {
      const requirement = parseRequirement(parser);
      terms += 1 + requirement.values.length;
      requirements.push(requirement);
    } catch (error) {
      throw new Error(`unable to parse requirement: ${(error as Error).message}`);
    }
    if (terms > maxTerms)
      throw new Error(`the limit is ${maxTerms} requirements and values in one selector; ask several times`);
    const separator = parser.take();
    if (separator.kind === 'end') return requirements;
    if (separator.kind !== ',')
      throw new Error(`found '${separator.text}', expected: ',' or 'end of string'`);
    const next = parser.peek();
    if (next.kind !== 'identifier' && next.kind !== '!')
      throw new Error(`found '${next.text}', expected: identifier after ','`);
  }
}

function parseRequirement(parser: Parser): Requirement {
  let token = parser.take();
  const absent = token.kind === '!';
  if (absent) token = parser.take();
  if (token.kind !== 'identifier') throw new Error(`found '${token.text}', expected: identifier`);
  const key = token.text;
  const keyErrors = qualifiedNameErrors(key);
  // Upstream has no path here, which Go prints as <nil>.
  if (keyErrors.length > 0)
    throw new Error(`<nil>: Invalid value: ${JSON.stringify(key)}: ${keyErrors.join('; ')}`);
  const next = parser.peek();
  if (absent) return newRequirement(key, '!', []);
  if (next.kind === 'end' || next.kind === ',') return newRequirement(key, 'exists', []);
  const operator = parseOperator(parser);
  const values = operator === 'in' || operator === 'notin' ? parseValues(parser) : [parseExactValue(parser)];
  return newRequirement(key, operator, values);
}

function parseOperator(parser: Parser): Operator {
  const token = parser.takeOperator();
  switch (token.kind) {
    case 'in':
    case 'notin':
    case '=':
    case '==':
    case '!=':
      return token.kind;
    case '>':
      return 'gt';
    case '<':
      return 'lt';
    default:
      throw new Error(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function parseExactValue(parser: Parser): string {
  const next = parser.peek();
  if (next.kind === 'end' || next.kind === ',') return '';
  const token = parser.take();
  if (token.kind === 'identifier') return token.text;
  throw new Error(`found '${token.text}', expected: identifier`);
}

function parseValues(parser: Parser): string[] {
  const open = parser.take();
  if (open.kind !== '(') throw new Error(`found '${open.text}' expected: '('`);
  const first = parser.peek();
  if (first.kind === ')') {
    parser.take();
    return [];
  }
  if (first.kind !== 'identifier' && first.kind !== ',')
    throw new Error(`found '${first.text}', expected: ',', ')' or identifier`);
  const values = parseIdentifiers(parser);
  if (parser.take().kind !== ')') throw new Error(`found '${first.text}', expected: ')'`);
  return values;
}

/** A comma with nothing beside it stands for the empty value, as upstream. */
function parseIdentifiers(parser: Parser): string[] {
  const values: string[] = [];
  for (;;) {
    const token = parser.take();
    if (token.kind === 'identifier') {
      values.push(token.text);
      const next = parser.peek();
      if (next.kind === ')') return values;
      if (next.kind !== ',') throw new Error(`found '${next.text}', expected: ',' or ')'`);
    } else if (token.kind === ',') {
      if (values.length === 0) values.push('');
      const next = parser.peek();
      if (next.kind === ')') {
        values.push('');
        return values;
      }
      if (next.kind === ',') {
        parser.take();
        values.push('');
      }
    } else {
      throw new Error(`found '${token.text}', expected: ',', or identifier`);
    }
  }
}
