// Admission policies and their bindings, except for what their expressions say: whoever stores them compiles those.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { type Errors, each, labelSelector, named, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dns1035Label, dnsSubdomain, pathSegment } from '../../../apimachinery/validation/names.ts';
import type {
  AuditAnnotation,
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  Mutation,
  NamedRuleWithOperations,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Validation,
  Variable,
} from '../../generated/types/admissionregistration-v1.ts';
import { admissionRuleErrors, matchConditionErrors } from './validate-rules.ts';

type Validating = Decoded<ValidatingAdmissionPolicy>;
type Mutating = Decoded<MutatingAdmissionPolicy>;
type AnySpec = NonNullable<Validating['spec']> & NonNullable<Mutating['spec']>;
type Rules = readonly Decoded<NamedRuleWithOperations>[] | undefined;

const maxAuditAnnotations = 20;
/** Less than a value may have: an expression often gives more than it is long. */
const maxValueExpressionBytes = 5 * 1024;
const mutableOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized'];
const reserved =
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  );

const isBlank = (text: string | undefined): boolean => (text ?? '').trim() === '';
const isIdentifier = (name: string): boolean =>
  /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.includes(name);
const given = (field: string, value: string | undefined, allowed: readonly string[]): Errors =>
  value === undefined || value === '' ? [required(field)] : oneOf(field, value, allowed);

function paramKindErrors(at: string, { apiVersion = '', kind = '' }: Decoded<ParamKind>): Errors {
  const errors: Errors = [];
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  const [group, version] = parts.length === 1 ? ['', parts[0]!] : [parts[0]!, parts[1]!];
  if (apiVersion === '') errors.push(required(`${at}.apiVersion`));
  else if (parts.length > 2)
    errors.push(invalid(`${at}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  else {
    const wrongGroup = group === '' ? [] : dnsSubdomain(group);
    if (wrongGroup.length > 0) errors.push(invalid(`${at}.apiVersion`, group, wrongGroup.join(',')));
    const wrongVersion = version === '' ? [] : dns1035Label(version);
    if (version === '') errors.push(invalid(`${at}.apiVersion`, apiVersion, 'version must be specified'));
    else if (wrongVersion.length > 0)
      errors.push(invalid(`${at}.apiVersion`, version, wrongVersion.join(',')));
  }
  const wrongKind = dns1035Label(kind.toLowerCase());
  if (kind === '') errors.push(required(`${at}.kind`));
  else if (wrongKind.length > 0)
    errors.push(
      invalid(`${at}.kind`, kind, `may have mixed case, but should otherwise match: ${wrongKind.join(',')}`),
    );
  return errors;
}

function namedRuleErrors(at: string, rule: Decoded<NamedRuleWithOperations>): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  (rule.resourceNames ?? []).forEach((name, i) => {
    const field = `${at}.resourceNames[${i}]`;
    errors.push(...each(field, name, pathSegment));
    if (seen.has(name)) errors.push(duplicate(field, name));
    seen.add(name);
  });
  return [...errors, ...admissionRuleErrors(at, rule)];
}

function matchResourcesErrors(at: string, match: Decoded<MatchResources> | undefined): Errors {
  if (match === undefined) return [];
  const { namespaceSelector, objectSelector, resourceRules = [], excludeResourceRules = [] } = match;
  const selector = (name: string, value: typeof namespaceSelector): Errors =>
    value === undefined ? [required(`${at}.${name}`)] : labelSelector(`${at}.${name}`, value);
  return [
    ...given(`${at}.matchPolicy`, match.matchPolicy, ['Equivalent', 'Exact']),
    ...selector('namespaceSelector', namespaceSelector),
    ...selector('objectSelector', objectSelector),
    ...resourceRules.flatMap((rule, i) => namedRuleErrors(`${at}.resourceRules[${i}]`, rule)),
    ...excludeResourceRules.flatMap((rule, i) => namedRuleErrors(`${at}.excludeResourceRules[${i}]`, rule)),
  ];
}

/** Nothing is left of an object to change when it is deleted. */
const mutableRuleErrors = (at: string, rules: Rules = []): Errors =>
  rules.flatMap(({ operations = [] }) =>
    operations.flatMap((one) => oneOf(`${at}.resourceRules.operations`, one, mutableOperations)),
  );

function constraintErrors(spec: AnySpec): Errors {
  const { matchConstraints: match } = spec;
  if (match === undefined) return [required('spec.matchConstraints')];
  const errors = matchResourcesErrors('spec.matchConstraints', match);
  if ((match.resourceRules ?? []).length === 0) errors.push(required('spec.matchConstraints.resourceRules'));
  return errors;
}

const variableErrors = (variables: readonly Decoded<Variable>[] = []): Errors =>
  variables.flatMap(({ name = '', expression }, i) => {
    const at = `spec.variables[${i}]`;
    const errors: Errors = [];
    if (isBlank(name)) errors.push(required(`${at}.name`, 'name is not specified'));
    else if (!isIdentifier(name))
      errors.push(invalid(`${at}.name`, name, 'name is not a valid CEL identifier'));
    if (isBlank(expression)) errors.push(required(`${at}.expression`, 'expression is not specified'));
    return errors;
  });

function validationErrors(at: string, validation: Decoded<Validation>): Errors {
  const { expression, message = '', messageExpression = '', reason } = validation;
  const errors: Errors = [];
  if (isBlank(expression)) errors.push(required(`${at}.expression`, 'expression is not specified'));
  if (messageExpression !== '' && isBlank(messageExpression))
    errors.push(invalid(`${at}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  if (message !== '' && isBlank(message))
    errors.push(invalid(`${at}.message`, message, 'message must be non-empty if specified'));
  else if (/[\n\r]/.test(message.trim()))
    errors.push(invalid(`${at}.message`, message, 'message must not contain line breaks'));
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(notSupported(`${at}.reason`, reason, reasons));
  return errors;
}

function annotationErrors(policy: string, annotations: readonly Decoded<AuditAnnotation>[] = []): Errors {
  const at = 'spec.auditAnnotations';
  const errors: Errors = [];
  if (annotations.length > maxAuditAnnotations)
    errors.push(invalid(at, annotations, `must not have more than ${maxAuditAnnotations} auditAnnotations`));
  const keys = new Set<string>();
  annotations.forEach(({ key = '', valueExpression = '' }, i) => {
    const [keyField, valueField] = [`${at}[${i}].key`, `${at}[${i}].valueExpression`];
    if (policy === '') errors.push(invalid(keyField, key, 'requires metadata.name be non-empty'));
    else errors.push(...each(keyField, `${policy}/${key}`, qualifiedNameErrors));
    const bytes = new TextEncoder().encode(valueExpression.trim()).length;
    if (bytes === 0) errors.push(required(valueField, 'valueExpression is not specified'));
    else if (bytes > maxValueExpressionBytes)
      errors.push(required(valueField, `must not exceed ${maxValueExpressionBytes} bytes in length`));
    if (keys.has(key)) errors.push(duplicate(keyField, key));
    keys.add(key);
  });
  return errors;
}

const commonErrors = (spec: AnySpec): Errors => [
  ...given('spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore']),
  ...(spec.paramKind === undefined ? [] : paramKindErrors('spec.paramKind', spec.paramKind)),
  ...constraintErrors(spec),
];

export function validateValidatingPolicy(policy: Validating): Errors {
  const spec = (policy.spec ?? {}) as AnySpec;
  const { validations = [], auditAnnotations = [] } = spec;
  const errors = [
    ...commonErrors(spec),
    ...matchConditionErrors('spec.matchConditions', spec.matchConditions ?? []),
    ...variableErrors(spec.variables),
  ];
  const missing = 'validations or auditAnnotations must contain at least one item';
  if (validations.length === 0 && auditAnnotations.length === 0)
    errors.push(required('spec.validations', missing), required('spec.auditAnnotations', missing));
  return [
    ...errors,
    ...validations.flatMap((one, i) => validationErrors(`spec.validations[${i}]`, one)),
    ...annotationErrors(policy.metadata?.name ?? '', auditAnnotations),
  ];
}

function mutationErrors(at: string, mutation: Decoded<Mutation>): Errors {
  const { patchType = '', applyConfiguration, jsonPatch } = mutation;
  if (patchType === '') return [required(`${at}.patchType`)];
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch')
    return [notSupported(`${at}.patchType`, patchType, ['ApplyConfiguration', 'JSONPatch'])];
  const isPatch = patchType === 'JSONPatch';
  const [own, other] = isPatch ? ['jsonPatch', 'applyConfiguration'] : ['applyConfiguration', 'jsonPatch'];
  const [mine, others] = isPatch ? [jsonPatch, applyConfiguration] : [applyConfiguration, jsonPatch];
  const errors: Errors = [];
  if (others !== undefined)
    errors.push(
      invalid(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`),
    );
  if (mine === undefined)
    errors.push(required(`${at}.${own}`, `must be specified when patchType is ${patchType}`));
  else if (isBlank(mine.expression)) errors.push(required(`${at}.${own}.expression`));
  return errors;
}

export function validateMutatingPolicy(policy: Mutating): Errors {
  const spec = (policy.spec ?? {}) as AnySpec;
  const { mutations = [] } = spec;
  return [
    ...commonErrors(spec),
    ...mutableRuleErrors('spec.matchConstraints', spec.matchConstraints?.resourceRules),
    ...matchConditionErrors('spec.matchConditions', spec.matchConditions ?? []),
    ...variableErrors(spec.variables),
    ...(mutations.length === 0
      ? [required('spec.mutations', 'mutations must contain at least one item')]
      : []),
    ...mutations.flatMap((one, i) => mutationErrors(`spec.mutations[${i}]`, one)),
    ...given('spec.reinvocationPolicy', spec.reinvocationPolicy, ['IfNeeded', 'Never']),
  ];
}

function paramRefErrors(at: string, reference: Decoded<ParamRef> | undefined): Errors {
  if (reference === undefined) return [];
  const { name = '', selector, parameterNotFoundAction: action } = reference;
  const exclusive = 'name and selector are mutually exclusive';
  const errors: Errors = name === '' ? [] : each(`${at}.name`, name, pathSegment);
  if (name !== '' && selector !== undefined) errors.push(forbidden(`${at}.name`, exclusive));
  if (selector !== undefined) errors.push(...labelSelector(`${at}.selector`, selector));
  if (name !== '' && selector !== undefined) errors.push(forbidden(`${at}.selector`, exclusive));
  if (name === '' && selector === undefined)
    errors.push(required(at, 'one of name or selector must be specified'));
  return [...errors, ...given(`${at}.parameterNotFoundAction`, action, ['Deny', 'Allow'])];
}

function actionErrors(at: string, actions: readonly string[] = []): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  actions.forEach((action, i) => {
    errors.push(...oneOf(`${at}[${i}]`, action, ['Audit', 'Deny', 'Warn']));
    if (seen.has(action)) errors.push(duplicate(`${at}[${i}]`, action));
    seen.add(action);
  });
  if (seen.has('Deny') && seen.has('Warn'))
    errors.push(
      invalid(
        at,
        actions,
        'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ),
    );
  if (seen.size === 0) errors.push(required(at, 'at least one validation action is required'));
  return errors;
}

const bindingErrors = ({ spec = {} }: Decoded<MutatingAdmissionPolicyBinding>): Errors => [
  ...named('spec.policyName', spec.policyName, dnsSubdomain),
  ...paramRefErrors('spec.paramRef', spec.paramRef),
  ...matchResourcesErrors('spec.matchResources', spec.matchResources),
];

export const validateMutatingBinding = (binding: Decoded<MutatingAdmissionPolicyBinding>): Errors => [
  ...bindingErrors(binding),
  ...mutableRuleErrors('spec.matchResources', binding.spec?.matchResources?.resourceRules),
];

export const validateValidatingBinding = (binding: Decoded<ValidatingAdmissionPolicyBinding>): Errors => [
  ...bindingErrors(binding),
  ...actionErrors('spec.validationActions', binding.spec?.validationActions),
];

/** Conditions that were stored are not looked at again. */
export function withoutKnownConditions(
  errors: Errors,
  policy: Validating | Mutating,
  old: typeof policy,
): Errors {
  const { paramKind, matchConditions } = policy.spec ?? {};
  const isKnown =
    semanticEqual(paramKind, old.spec?.paramKind) &&
    semanticEqual(matchConditions, old.spec?.matchConditions);
  return isKnown ? errors.filter(({ field }) => !field.startsWith('spec.matchConditions')) : errors;
}

export function validatePolicyStatus({ status }: Validating): Errors {
  const warnings = status?.typeChecking?.expressionWarnings ?? [];
  return warnings.flatMap(({ warning = '', fieldRef = '' }, i) => {
    const at = `status.typeChecking.expressionWarnings[${i}]`;
    return [
      ...(warning === '' ? [required(`${at}.warning`)] : []),
      ...(isBlank(fieldRef) ? [required(`${at}.fieldRef`)] : []),
    ];
  });
}
