// What is stored under the names of priority and fairness, and whether it says what it must to be used.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { arr, isObject, obj, spec, str } from '../../apimachinery/json-access.ts';

const isListOf = (value: Json | undefined, is: (item: Json) => boolean): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(is));
const isText = (value: Json): boolean => typeof value === 'string';
const isAmount = (value: Json | undefined): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0);

const isRule = (rule: Json): boolean =>
  isObject(rule) && Object.values(rule).every((value) => !Array.isArray(value) || value.every(isText));

const isPolicy = (policy: Json): boolean =>
  isObject(policy) &&
  Array.isArray(policy['subjects']) &&
  policy['subjects'].every(isObject) &&
  isListOf(policy['resourceRules'], isRule) &&
  isListOf(policy['nonResourceRules'], isRule) &&
  arr(policy['nonResourceRules']).every((rule) => Array.isArray(obj(rule)['nonResourceURLs']));

export function isFlowSchema(object: JsonObject): boolean {
  const { priorityLevelConfiguration: level, matchingPrecedence, rules } = spec(object);
  return str(obj(level)['name']) !== '' && isAmount(matchingPrecedence) && isListOf(rules, isPolicy);
}

export function isPriorityLevel(object: JsonObject): boolean {
  const { type, exempt, limited } = spec(object);
  if (type !== 'Exempt' && type !== 'Limited') return false;
  const part = obj(type === 'Exempt' ? exempt : limited);
  const queuing = obj(obj(part['limitResponse'])['queuing']);
  return (
    ['nominalConcurrencyShares', 'lendablePercent', 'borrowingLimitPercent'].every((key) =>
      isAmount(part[key]),
    ) && ['queues', 'handSize', 'queueLengthLimit'].every((key) => isAmount(queuing[key]))
  );
}
