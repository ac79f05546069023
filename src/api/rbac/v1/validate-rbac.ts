// Roles and bindings.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labelSelector, named, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain, pathSegment } from '../../../apimachinery/validation/names.ts';
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from '../../generated/types/rbac-v1.ts';

const group = 'rbac.authorization.k8s.io';

function ruleErrors(rule: Decoded<PolicyRule>, at: string, namespaced: boolean): Errors {
  const errors: Errors = [];
  if ((rule.verbs ?? []).length === 0)
    errors.push(required(`${at}.verbs`, 'verbs must contain at least one value'));
  const urls = rule.nonResourceURLs ?? [];
  if (urls.length > 0) {
    if (namespaced)
      errors.push(
        invalid(`${at}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'),
      );
    if ((rule.apiGroups ?? []).length + (rule.resources ?? []).length + (rule.resourceNames ?? []).length > 0)
      errors.push(
        invalid(
          `${at}.nonResourceURLs`,
          urls,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      );
    return errors;
  }
  if ((rule.apiGroups ?? []).length === 0)
    errors.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
  if ((rule.resources ?? []).length === 0)
    errors.push(required(`${at}.resources`, 'resource rules must supply at least one resource'));
  return errors;
}

export const validateRole =
  (namespaced: boolean) =>
  (role: Decoded<ClusterRole>): Errors => [
    ...(role.rules ?? []).flatMap((rule, i) => ruleErrors(rule, `rules[${i}]`, namespaced)),
    ...(role.aggregationRule?.clusterRoleSelectors ?? []).flatMap((s, i) =>
      labelSelector(`aggregationRule.clusterRoleSelectors[${i}]`, s),
    ),
  ];

function subjectErrors(subject: Decoded<Subject>, at: string, namespaced: boolean): Errors {
  const errors: Errors = [];
  const name = subject.name ?? '';
  if (name === '') errors.push(required(`${at}.name`));
  const apiGroup = subject.apiGroup ?? '';
  switch (subject.kind) {
    case 'ServiceAccount':
      if (name !== '') errors.push(...each(`${at}.name`, name, dnsSubdomain));
      if (apiGroup !== '') errors.push(notSupported(`${at}.apiGroup`, apiGroup, ['']));
      if (!namespaced && !subject.namespace) errors.push(required(`${at}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== group) errors.push(notSupported(`${at}.apiGroup`, apiGroup, [group]));
      break;
    default:
      errors.push(notSupported(`${at}.kind`, subject.kind ?? '', ['Group', 'ServiceAccount', 'User']));
  }
  return errors;
}

export const validateBinding =
  (namespaced: boolean) =>
  (binding: Decoded<RoleBinding>): Errors => {
    const ref = binding.roleRef ?? {};
    const errors: Errors = [];
    if (ref.apiGroup !== group) errors.push(notSupported('roleRef.apiGroup', ref.apiGroup ?? '', [group]));
    errors.push(...oneOf('roleRef.kind', ref.kind, namespaced ? ['ClusterRole', 'Role'] : ['ClusterRole']));
    errors.push(...named('roleRef.name', ref.name, pathSegment));
    return [
      ...errors,
      ...(binding.subjects ?? []).flatMap((s, i) => subjectErrors(s, `subjects[${i}]`, namespaced)),
    ];
  };

export const roleRefStays = (binding: Decoded<RoleBinding>, old: Decoded<RoleBinding>): Errors =>
  semanticEqual(binding.roleRef, old.roleRef)
    ? []
    : [invalid('roleRef', binding.roleRef ?? null, 'cannot change roleRef')];
