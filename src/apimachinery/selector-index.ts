// A selector of many terms by key, so that an object costs as much as it has labels, and not as the selector has terms.
import { isInt64Text, type Requirement } from './label-requirement.ts';
import type { Labels } from './labels.ts';

/** All that is asked of one key, put together. */
interface KeyRule {
  /** The key must be there. */
  required: boolean;
  /** The key must not be there. */
  forbidden: boolean;
  allowed: ReadonlySet<string> | undefined;
  refused: Set<string> | undefined;
  above: bigint | undefined;
  below: bigint | undefined;
}

export interface SelectorIndex {
  readonly rules: ReadonlyMap<string, KeyRule>;
  readonly required: number;
}

/** Fewer terms and values than these are tried one after the other: that is faster. */
const fewTerms = 16;

export function indexIfLarge(requirements: readonly Requirement[]): SelectorIndex | undefined {
  let terms = 0;
  for (const { values } of requirements) terms += 1 + values.length;
  return terms <= fewTerms ? undefined : selectorIndex(requirements);
}

const blank: KeyRule = {
  required: false,
  forbidden: false,
  allowed: undefined,
  refused: undefined,
  above: undefined,
  below: undefined,
};
/** Of most keys in selectors of hundreds of terms: one for all of them. */
const absent: KeyRule = { ...blank, forbidden: true };

function selectorIndex(requirements: readonly Requirement[]): SelectorIndex {
  const rules = new Map<string, KeyRule>();
  let required = 0;
  for (const requirement of requirements) {
    const { key, operator } = requirement;
    const before = rules.get(key);
    const wasRequired = before?.required === true;
    const rule = before === undefined && operator === '!' ? absent : added(before, requirement);
    if (rule !== before) rules.set(key, rule);
    if (rule.required && !wasRequired) required++;
  }
  return { rules, required };
}

/** What was asked of the key before and `requirement`. */
function added(before: KeyRule | undefined, requirement: Requirement): KeyRule {
  const rule = before === undefined || before === absent ? { ...(before ?? blank) } : before;
  add(rule, requirement);
  return rule;
}

function add(rule: KeyRule, { operator, values }: Requirement): void {
  if (operator === '!') rule.forbidden = true;
  else if (operator === '!=' || operator === 'notin') {
    rule.refused ??= new Set();
    for (const value of values) rule.refused.add(value);
  } else {
    rule.required = true;
    if (operator === 'exists') return;
    if (operator === 'gt') rule.above = larger(rule.above, BigInt(values[0]!));
    else if (operator === 'lt') rule.below = smaller(rule.below, BigInt(values[0]!));
    else {
      const { allowed } = rule;
      rule.allowed = new Set(allowed === undefined ? values : values.filter((value) => allowed.has(value)));
    }
  }
}

const larger = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b > a ? b : a);
const smaller = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);

export function matchesIndex({ rules, required }: SelectorIndex, labels: Labels): boolean {
  let found = 0;
  for (const key in labels) {
    const value = labels[key];
    const rule = value === undefined ? undefined : rules.get(key);
    if (rule === undefined) continue;
    if (!fits(rule, value!)) return false;
    if (rule.required) found++;
  }
  return found === required;
}

function fits(rule: KeyRule, value: string): boolean {
  if (rule.forbidden || rule.refused?.has(value)) return false;
  if (rule.allowed !== undefined && !rule.allowed.has(value)) return false;
  if (rule.above === undefined && rule.below === undefined) return true;
  if (!isInt64Text(value)) return false;
  const number = BigInt(value);
  return (
    (rule.above === undefined || number > rule.above) && (rule.below === undefined || number < rule.below)
  );
}
