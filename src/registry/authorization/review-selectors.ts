// The selectors of a SubjectAccessReview: checked, and made into what authorizers are asked.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { type FieldError, forbidden, invalid, required } from '../../apimachinery/field-error.ts';
import { isObject, objs, str, strs } from '../../apimachinery/json-access.ts';
import { qualifiedNameErrors } from '../../apimachinery/labels.ts';
import {
  type AskedSelector,
  fieldRequirements,
  labelRequirements,
  type SelectorRequirement,
} from '../../apiserver/authorization/selector-requirements.ts';

type Which = 'fieldSelector' | 'labelSelector';

/** Those of newer clients are no fault, and narrow nothing. */
const operators: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function* requirementErrors(requirement: JsonObject, at: string, which: Which): Generator<FieldError> {
  const { operator, key } = requirement;
  const values = strs(requirement['values']);
  if (str(key) === '' && which === 'fieldSelector') yield required(`${at}.key`, 'must be specified');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      yield required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
    yield forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  if (which === 'labelSelector')
    for (const why of qualifiedNameErrors(str(key))) yield invalid(`${at}.key`, str(key), why);
}

/** What is wrong with the selector of a review. */
export function* selectorErrors(selector: JsonObject, at: string, which: Which): Generator<FieldError> {
  const raw = str(selector['rawSelector']);
  const requirements = objs(selector['requirements']);
  if (raw !== '' && requirements.length > 0)
    yield invalid(`${at}.rawSelector`, raw, 'may not specified at the same time as requirements');
  if (raw === '' && requirements.length === 0)
    yield required(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`);
  for (const [i, requirement] of requirements.entries())
    yield* requirementErrors(requirement, `${at}.requirements[${i}]`, which);
}

interface ReadSelector {
  /** Undefined: it asks for nothing. */
  readonly asked: AskedSelector | undefined;
  /** Some of it could not be read, and narrows nothing. */
  readonly isCut: boolean;
}

/** A field is equal to one value or is not: more can't be asked of it yet. */
const isKnown = (which: Which, operator: string, values: readonly string[]): boolean =>
  which === 'labelSelector'
    ? operators.includes(operator)
    : (operator === 'In' || operator === 'NotIn') && values.length === 1;

export function readSelector(selector: unknown, which: Which): ReadSelector {
  if (!isObject(selector as JsonObject)) return { asked: undefined, isCut: false };
  const { rawSelector, requirements } = selector as JsonObject;
  if (str(rawSelector) !== '') {
    const asked = (which === 'fieldSelector' ? fieldRequirements : labelRequirements)(str(rawSelector));
    return { asked, isCut: asked === undefined };
  }
  const all = objs(requirements).map((one) => ({
    key: str(one['key']),
    operator: str(one['operator']),
    values: strs(one['values']),
  }));
  const asked = all.filter((one) => isKnown(which, one.operator, one.values)) as SelectorRequirement[];
  return { asked: asked.length === 0 ? undefined : asked, isCut: asked.length < all.length };
}
