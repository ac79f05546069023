// What is said of an expression that has its types: constants that are no duration, timestamp or pattern, and literals of mixed types.
import { type Expr, type ListExpr, type MapExpr, subexpressions } from './ast.ts';
import { type CelType, formatType, isEquivalentType } from './cel-type.ts';
import { parseDuration } from './duration.ts';
import { refuseNoPattern } from './patterns.ts';
import type { Issues } from './source.ts';
import { parseTimestamp } from './timestamp.ts';
import { unwrapOptional } from './type-unification.ts';
import { Timestamp, type Value } from './value.ts';

/** What the first argument of a function may be, if it is written down. */
const checks: Readonly<Record<string, (value: Value) => boolean>> = {
  duration: (value) => typeof value === 'string' && parseDuration(value) !== undefined,
  timestamp: (value) =>
    typeof value === 'string'
      ? parseTimestamp(value) instanceof Timestamp
      : typeof value === 'bigint' && value >= -62_135_596_800n && value <= 253_402_300_799n,
  matches: (value) => refuseNoPattern([undefined, value]) === undefined,
};

/** Functions whose arguments may be of mixed types. */
const mixed: ReadonlySet<string> = new Set(['format', 'strings.format', 'cel.@block']);

export function validateExpression(
  root: Expr,
  issues: Issues,
  more: readonly ((expr: Expr, issues: Issues) => void)[],
): void {
  for (const [name, check] of Object.entries(checks))
    visit(root, (expr) => checkArgument(expr, name, check, issues));
  visit(root, (expr, isMixed) => {
    if (expr.kind === 'list' && !isMixed) checkList(expr, issues);
  });
  visit(root, (expr, isMixed) => {
    if (expr.kind === 'map' && !isMixed) checkMap(expr, issues);
  });
  for (const validate of more) visit(root, (expr) => validate(expr, issues));
}

function checkArgument(expr: Expr, name: string, check: (value: Value) => boolean, issues: Issues): void {
  if (expr.kind !== 'call' || (expr.resolved?.name ?? expr.name) !== name) return;
  const [argument] = expr.args;
  if (argument?.kind === 'literal' && !check(argument.value))
    issues.report(argument.at, `invalid ${name} argument`);
}

const inner = (type: CelType, optional: boolean): CelType =>
  optional ? (unwrapOptional(type) ?? type) : type;
const differ = (issues: Issues, at: number, expected: CelType, actual: CelType): void =>
  issues.report(at, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);

function checkList(expr: ListExpr, issues: Issues): void {
  const types = expr.elements.map((element, i) => inner(element.type!, expr.optional.has(i)));
  const odd = types.findIndex((type) => !isEquivalentType(types[0]!, type));
  if (odd !== -1) differ(issues, expr.elements[odd]!.at, types[0]!, types[odd]!);
}

function checkMap(expr: MapExpr, issues: Issues): void {
  const [first, ...rest] = expr.entries;
  if (!first) return;
  const keys = first.key.type!;
  const values = inner(first.value.type!, first.optional);
  for (const { key, value, optional } of rest) {
    if (!isEquivalentType(keys, key.type!)) differ(issues, key.at, keys, key.type!);
    const type = inner(value.type!, optional);
    if (!isEquivalentType(values, type)) differ(issues, value.at, values, type);
  }
}

/** Each expression within, and whether it stands in a call that takes mixed types. */
function visit(expr: Expr, look: (expr: Expr, isMixed: boolean) => void, isMixed: boolean = false): void {
  look(expr, isMixed);
  const within = isMixed || (expr.kind === 'call' && mixed.has(expr.resolved?.name ?? expr.name));
  for (const child of subexpressions(expr)) visit(child, look, within);
}
