// When a Job's pods count as failed, and when a Job with indexes has succeeded.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import {
  duplicate,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  unfit,
} from '../../../apimachinery/field-error.ts';
import { goQuoted } from '../../../apimachinery/go-format.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { type Errors, each, nonNegative } from '../../../apimachinery/validation/checks.ts';
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../generated/types/batch-v1.ts';
import { countIndexes } from './index-list.ts';

const maxRules = 20;
const maxExitCodes = 255;
const maxPatterns = 20;
const maxIndexesLength = 64 * 1024;

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const operators = ['In', 'NotIn'];
const statuses = ['False', 'True', 'Unknown'];

/** Asks for one of a few words; an empty one is told which there are, as Go prints a list. */
const wordErrors = (field: string, word: string, words: readonly string[]): Errors => {
  if (word === '') return [required(field, `valid values: ${goQuoted(words)}`)];
  return words.includes(word) ? [] : [notSupported(field, word, words)];
};

export function validateFailurePolicy(s: Decoded<JobSpec>, at: string): Errors {
  const rules = s.podFailurePolicy?.rules ?? [];
  const { containers = [], initContainers = [] } = s.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name ?? ''));
  const ofIndexes = s.backoffLimitPerIndex !== undefined;
  return [
    ...(rules.length > maxRules ? [tooMany(`${at}.rules`, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, i) => ruleErrors(rule, `${at}.rules[${i}]`, names, ofIndexes)),
  ];
}

function ruleErrors(
  rule: Decoded<PodFailurePolicyRule>,
  at: string,
  containers: ReadonlySet<string>,
  ofIndexes: boolean,
): Errors {
  const { action = '', onExitCodes, onPodConditions = [] } = rule;
  const errors: Errors =
    action === 'FailIndex' && !ofIndexes
      ? [invalid(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set')]
      : wordErrors(`${at}.action`, action, actions);
  if (onExitCodes !== undefined) errors.push(...exitCodeErrors(onExitCodes, `${at}.onExitCodes`, containers));
  errors.push(...conditionErrors(onPodConditions, `${at}.onPodConditions`));
  const both = onExitCodes !== undefined && onPodConditions.length > 0;
  if (both) errors.push(unfit(at, 'specifying both OnExitCodes and OnPodConditions is not supported'));
  if (onExitCodes === undefined && onPodConditions.length === 0)
    errors.push(unfit(at, 'specifying one of OnExitCodes and OnPodConditions is required'));
  return errors;
}

function conditionErrors(
  patterns: readonly Decoded<PodFailurePolicyOnPodConditionsPattern>[],
  at: string,
): Errors {
  return [
    ...(patterns.length > maxPatterns ? [tooMany(at, patterns.length, maxPatterns)] : []),
    ...patterns.flatMap(({ type, status = '' }, i) => [
      ...each(`${at}[${i}].type`, type, qualifiedNameErrors),
      ...wordErrors(`${at}[${i}].status`, status, statuses),
    ]),
  ];
}

function exitCodeErrors(
  codes: Decoded<PodFailurePolicyOnExitCodesRequirement>,
  at: string,
  containers: ReadonlySet<string>,
): Errors {
  const { operator = '', containerName, values = [] } = codes;
  const errors = wordErrors(`${at}.operator`, operator, operators);
  if (containerName !== undefined && !containers.has(containerName))
    errors.push(
      invalid(
        `${at}.containerName`,
        containerName,
        'must be one of the container or initContainer names in the pod template',
      ),
    );
  const list = `${at}.values`;
  if (values.length === 0) errors.push(invalid(list, codes.values ?? null, 'at least one value is required'));
  if (values.length > maxExitCodes) errors.push(tooMany(list, values.length, maxExitCodes));
  const seen = new Set<number>();
  values.forEach((code, i) => {
    if (operator === 'In' && code === 0)
      errors.push(invalid(`${list}[${i}]`, code, 'must not be 0 for the In operator'));
    if (seen.has(code)) errors.push(duplicate(`${list}[${i}]`, code));
    seen.add(code);
  });
  if (values.some((code, i) => i > 0 && values[i - 1]! > code))
    errors.push(invalid(list, values, 'must be ordered'));
  return errors;
}

/** Of a Job with indexes. */
export function validateSuccessPolicy(s: Decoded<JobSpec>, at: string): Errors {
  const rules = s.successPolicy?.rules ?? [];
  const errors: Errors = [];
  if (rules.length === 0)
    errors.push(
      required(`${at}.rules`, 'at least one rules must be specified when the successPolicy is specified'),
    );
  if (rules.length > maxRules) errors.push(tooMany(`${at}.rules`, rules.length, maxRules));
  rules.forEach((rule, i) => {
    errors.push(...successRuleErrors(rule, `${at}.rules[${i}]`, s.completions ?? 0));
  });
  return errors;
}

function successRuleErrors(rule: Decoded<SuccessPolicyRule>, at: string, completions: number): Errors {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  if (count === undefined && indexes === undefined)
    return [required(at, 'at least one of succeededCount or succeededIndexes must be specified')];
  const errors: Errors = [];
  const parsed = indexes === undefined ? undefined : countIndexes(indexes, completions);
  if ((indexes?.length ?? 0) > maxIndexesLength)
    errors.push(tooLong(`${at}.succeededIndexes`, maxIndexesLength));
  if (typeof parsed === 'string')
    errors.push(invalid(`${at}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${parsed}`));
  if (count === undefined) return errors;
  const field = `${at}.succeededCount`;
  errors.push(...nonNegative(field, count));
  if (count > completions)
    errors.push(
      invalid(
        field,
        count,
        `must be less than or equal to ${completions} (the number of specified completions)`,
      ),
    );
  const total = typeof parsed === 'number' ? parsed : 0;
  if (parsed !== undefined && count > total)
    errors.push(
      invalid(
        field,
        count,
        `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`,
      ),
    );
  return errors;
}
