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

function selectorIndex(requirements: readonly Requirement[]): SelectorIndex {
  const rules = new Map<string, KeyRule>();
  for (const requirement of requirements) {
    let rule = rules.get(requirement.key);
    if (rule === undefined) {
      rule = {
        required: false,
        forbidden: false,
        allowed: undefined,
        refused: undefined,
        above: undefined,
        below: undefined,
      };
      rules.set(requirement.key, rule);
    }
    add(rule, requirement);
  }
  let required = 0;
  for (const rule of rules.values()) if (rule.required) required++;
  return { rules, required };
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
