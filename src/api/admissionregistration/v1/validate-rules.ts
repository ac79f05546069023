// What webhooks and policies are for: rules of operations on resources, and conditions.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, required, tooMany } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { type Errors, named, oneOf } from '../../../apimachinery/validation/checks.ts';
import type { MatchCondition, RuleWithOperations } from '../../generated/types/admissionregistration-v1.ts';

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const maxMatchConditions = 64;

function listErrors(field: string, list: readonly string[], others: string): Errors {
  if (list.length === 0) return [required(field)];
  if (list.length === 1 || !list.includes('*')) return [];
  return [invalid(field, list, `if '*' is present, must not specify other ${others}`)];
}

function resourcesErrors(field: string, resources: readonly string[]): Errors {
  if (resources.length === 0) return [required(field)];
  const errors: Errors = [];
  const allOf = new Set<string>();
  const ofAll = new Set<string>();
  let whole = false;
  resources.forEach((text, i) => {
    const at = `${field}[${i}]`;
    if (text === '') {
      errors.push(required(at));
      return;
    }
    const slash = text.indexOf('/');
    if (slash < 0) {
      whole = text !== '*';
      return;
    }
    const [resource, sub] = [text.slice(0, slash), text.slice(slash + 1)];
    if (allOf.has(resource))
      errors.push(invalid(at, text, `if '${resource}/*' is present, must not specify ${text}`));
    if (ofAll.has(sub)) errors.push(invalid(at, text, `if '*/${sub}' is present, must not specify ${text}`));
    if (sub === '*') allOf.add(resource);
    if (resource === '*') ofAll.add(sub);
  });
  if (resources.length > 1 && resources.includes('*/*'))
    errors.push(invalid(field, resources, "if '*/*' is present, must not specify other resources"));
  if (resources.includes('*') && whole)
    errors.push(
      invalid(field, resources, "if '*' is present, must not specify other resources without subresources"),
    );
  return errors;
}

export function admissionRuleErrors(at: string, rule: Decoded<RuleWithOperations>): Errors {
  const { apiVersions = [] } = rule;
  return [
    ...listErrors(`${at}.operations`, rule.operations ?? [], 'operations'),
    ...(rule.operations ?? []).flatMap((one, i) => oneOf(`${at}.operations[${i}]`, one, operations)),
    ...listErrors(`${at}.apiGroups`, rule.apiGroups ?? [], 'API groups'),
    ...listErrors(`${at}.apiVersions`, apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, i) => (version === '' ? [required(`${at}.apiVersions[${i}]`)] : [])),
    ...resourcesErrors(`${at}.resources`, rule.resources ?? []),
    ...(rule.scope === undefined ? [] : oneOf(`${at}.scope`, rule.scope, ['*', 'Cluster', 'Namespaced'])),
  ];
}

export function matchConditionErrors(at: string, conditions: readonly Decoded<MatchCondition>[]): Errors {
  const errors =
    conditions.length > maxMatchConditions ? [tooMany(at, conditions.length, maxMatchConditions)] : [];
  const names = new Set<string>();
  conditions.forEach(({ expression = '', name = '' }, i) => {
    if (expression.trim() === '') errors.push(required(`${at}[${i}].expression`));
    errors.push(...named(`${at}[${i}].name`, name, qualifiedNameErrors));
    if (name !== '' && names.has(name)) errors.push(duplicate(`${at}[${i}].name`, name));
    names.add(name);
  });
  return errors;
}
