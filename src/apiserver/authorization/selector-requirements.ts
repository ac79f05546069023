// Selectors as authorizers see them: requirements, whether a request's query or a review says them.
import { parseFieldSelector } from '../../apimachinery/field-selector.ts';
import { parseRequirements } from '../../apimachinery/label-selector-parser.ts';

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: readonly string[];
}

/** The text of a query, or what a review says. */
export type AskedSelector = string | readonly SelectorRequirement[];

/** Undefined: it can't be read. As upstream it then narrows nothing here; the request is refused later. */
function read<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

export const fieldRequirements = (
  selector: AskedSelector = '',
): readonly SelectorRequirement[] | undefined =>
  typeof selector !== 'string'
    ? selector
    : read(() =>
        parseFieldSelector(selector).requirements.map(({ field, operator, value }) => ({
          key: field,
          operator: operator === '=' ? ('In' as const) : ('NotIn' as const),
          values: [value],
        })),
      );

const ofLabels: Readonly<Record<string, SelectorRequirement['operator'] | undefined>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/** Those that compare numbers are nothing that a review can say. */
export const labelRequirements = (
  selector: AskedSelector = '',
): readonly SelectorRequirement[] | undefined =>
  typeof selector !== 'string'
    ? selector
    : read(() =>
        parseRequirements(selector).flatMap(({ key, operator, values }) => {
          const known = ofLabels[operator];
          return known === undefined ? [] : [{ key, operator: known, values }];
        }),
      );
