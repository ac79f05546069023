// Label selectors: the query text `a=b,c in (d,e),!f` and the LabelSelector object, as one list of requirements.
import type { Requirement } from './label-requirement.ts';
import { matchesRequirement, newRequirement, objectOperators } from './label-requirement.ts';
import { parseRequirements } from './label-selector-parser.ts';
import type { Labels } from './labels.ts';
import { indexIfLarge, matchesIndex, type SelectorIndex } from './selector-index.ts';

/** All requirements must hold; none means everything. `nothing` matches no object. */
export interface Selector {
  readonly requirements: readonly Requirement[];
  readonly nothing?: true;
  /** Of a selector of many terms. */
  readonly index?: SelectorIndex | undefined;
}

/** `metav1.LabelSelector`. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

const everything: Selector = { requirements: [] };
const nothing: Selector = { requirements: [], nothing: true };

/** Parses the query text. Throws Error with upstream's message. */
export function parseLabelSelector(text: string): Selector {
  return selectorOf(parseRequirements(text));
}

function selectorOf(requirements: Requirement[]): Selector {
  if (requirements.length === 0) return everything;
  const index = indexIfLarge(requirements);
  requirements.sort(byKey);
  return index === undefined ? { requirements } : { requirements, index };
}

const byKey = (a: Requirement, b: Requirement): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** A LabelSelector object as requirements: undefined selects nothing, `{}` everything. Throws Error. */
export function selectorFrom(object: LabelSelectorObject | null | undefined): Selector {
  if (object === undefined || object === null) return nothing;
  const requirements: Requirement[] = [];
  for (const [key, value] of Object.entries(object.matchLabels ?? {}))
    requirements.push(newRequirement(key, '=', [value]));
  for (const expression of object.matchExpressions ?? []) {
    const operator = objectOperators[expression.operator];
    if (operator === undefined)
      throw new Error(`${JSON.stringify(expression.operator)} is not a valid label selector operator`);
    requirements.push(newRequirement(expression.key, operator, expression.values ?? []));
  }
  return selectorOf(requirements);
}

/** Of objects that nobody changes: lists of keys of large ones are long in the making. */
const keysOf = new WeakMap<Labels, readonly string[]>();

/**
 * Of a plain map (Service.spec.selector): every pair must be there; no validation, as upstream. A selector may have thousands of
 * them, and is asked about each object of a namespace: nothing is made of it, and it is read to the first that differs.
 */
export function matchesSet(set: Labels, labels: Labels | undefined): boolean {
  const keys = keysOf.get(set) ?? Object.keys(set);
  keysOf.set(set, keys);
  const present = labels ?? {};
  return keys.every((key) => Object.hasOwn(present, key) && present[key] === set[key]);
}

/** What is no operator matches nothing. */
function matchesExpression(
  { key, operator, values = [] }: NonNullable<LabelSelectorObject['matchExpressions']>[number],
  labels: Labels,
): boolean {
  const known = objectOperators[operator];
  return known !== undefined && matchesRequirement({ key, operator: known, values }, labels);
}

/** As `matchesSelector(selectorFrom(object), labels)` of an object that was validated, and as cheap as `matchesSet`. */
export const matchesObject = (object: LabelSelectorObject | undefined, labels: Labels | undefined): boolean =>
  object !== undefined &&
  matchesSet(object.matchLabels ?? {}, labels) &&
  (object.matchExpressions ?? []).every((expression) => matchesExpression(expression, labels ?? {}));

export function matchesSelector(selector: Selector, labels: Labels | undefined): boolean {
  if (selector.nothing) return false;
  const present = labels ?? {};
  if (selector.index !== undefined) return matchesIndex(selector.index, present);
  for (const requirement of selector.requirements)
    if (!matchesRequirement(requirement, present)) return false;
  return true;
}

export const isEverything = (selector: Selector): boolean =>
  !selector.nothing && selector.requirements.length === 0;

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case '!':
      return `!${key}`;
    case 'exists':
      return key;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`;
    case 'gt':
      return `${key}>${values[0]}`;
    case 'lt':
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0] ?? ''}`;
  }
}

/** The query text of a selector. */
export const selectorText = (selector: Selector): string =>
  selector.requirements.map(formatRequirement).join(',');

/** What tables and `kubectl describe` print of a LabelSelector object: `<none>` when it is empty. */
export function formatLabelSelector(object: LabelSelectorObject | null | undefined): string {
  try {
    const text = selectorText(selectorFrom(object));
    return text === '' ? '<none>' : text;
  } catch {
    return '<error>';
  }
}
