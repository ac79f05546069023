// Reads the text of a label selector: upstream's lexer and parser, errors included.
import type { Operator, Requirement } from './label-requirement.ts';
import { newRequirement } from './label-requirement.ts';
import { qualifiedNameErrors } from './labels.ts';

/** A symbol, the longest that starts there, or a word; what is left out are spaces. */
const tokenPattern = /==|!=|[!=(),><]|[^ \t\r\n!=(),><]+/g;
const specials = '!=(),><';
const end = '';

/** As a value, `in` and `notin` are plain words. */
const isWord = (token: string): boolean => token !== end && !specials.includes(token[0]!);

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  constructor(text: string) {
    this.#tokens = text.match(tokenPattern) ?? [];
  }
  peek(): string {
    return this.#tokens[this.#at] ?? end;
  }
  take(): string {
    const token = this.peek();
    this.#at++;
    return token;
  }
}

/** Requirements and values of one query: a watch keeps them as long as it lasts. */
const maxTerms = 500;

export function parseRequirements(text: string): Requirement[] {
  const parser = new Parser(text);
  const requirements: Requirement[] = [];
  let terms = 0;
  for (;;) {
    const token = parser.peek();
    if (token === end) return requirements;
    if (!isWord(token) && token !== '!')
      throw new Error(`found '${token}', expected: !, identifier, or 'end of string'`);
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
    if (separator === end) return requirements;
    if (separator !== ',') throw new Error(`found '${separator}', expected: ',' or 'end of string'`);
    const next = parser.peek();
    if (!isWord(next) && next !== '!') throw new Error(`found '${next}', expected: identifier after ','`);
  }
}

function parseRequirement(parser: Parser): Requirement {
  let key = parser.take();
  const absent = key === '!';
  if (absent) key = parser.take();
  if (!isWord(key)) throw new Error(`found '${key}', expected: identifier`);
  const keyErrors = qualifiedNameErrors(key);
  // Upstream has no path here, which Go prints as <nil>.
  if (keyErrors.length > 0)
    throw new Error(`<nil>: Invalid value: ${JSON.stringify(key)}: ${keyErrors.join('; ')}`);
  if (absent) return newRequirement(key, '!', []);
  const next = parser.peek();
  if (next === end || next === ',') return newRequirement(key, 'exists', []);
  const operator = parseOperator(parser);
  const values = operator === 'in' || operator === 'notin' ? parseValues(parser) : [parseExactValue(parser)];
  return newRequirement(key, operator, values);
}

function parseOperator(parser: Parser): Operator {
  const token = parser.take();
  switch (token) {
    case 'in':
    case 'notin':
    case '=':
    case '==':
    case '!=':
      return token;
    case '>':
      return 'gt';
    case '<':
      return 'lt';
    default:
      throw new Error(`found '${token}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function parseExactValue(parser: Parser): string {
  const next = parser.peek();
  if (next === end || next === ',') return '';
  if (isWord(next)) return parser.take();
  throw new Error(`found '${next}', expected: identifier`);
}

function parseValues(parser: Parser): string[] {
  const open = parser.take();
  if (open !== '(') throw new Error(`found '${open}' expected: '('`);
  const first = parser.peek();
  if (first === ')') {
    // As upstream: one value, the empty one.
    parser.take();
    return [''];
  }
  if (!isWord(first) && first !== ',') throw new Error(`found '${first}', expected: ',', ')' or identifier`);
  const values = parseIdentifiers(parser);
  if (parser.take() !== ')') throw new Error(`found '${first}', expected: ')'`);
  return values;
}

/** A comma with nothing beside it stands for the empty value, as upstream. */
function parseIdentifiers(parser: Parser): string[] {
  const values: string[] = [];
  for (;;) {
    const token = parser.take();
    if (isWord(token)) {
      values.push(token);
      const next = parser.peek();
      if (next === ')') return values;
      if (next !== ',') throw new Error(`found '${next}', expected: ',' or ')'`);
    } else if (token === ',') {
      if (values.length === 0) values.push('');
      const next = parser.peek();
      if (next === ')') {
        values.push('');
        return values;
      }
      if (next === ',') values.push('');
    } else {
      throw new Error(`found '${token}', expected: ',', or identifier`);
    }
  }
}
