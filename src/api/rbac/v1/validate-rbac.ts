// Roles and bindings.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { arr, obj, objs, semanticEqual, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, labelSelector, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain, pathSegment } from '../../../apimachinery/validation/names.ts';

const group = 'rbac.authorization.k8s.io';

function ruleErrors(rule: JsonObject, at: string, namespaced: boolean): Errors {
  const errors: Errors = [];
  if (arr(rule['verbs']).length === 0)
    errors.push(required(`${at}.verbs`, 'verbs must contain at least one value'));
  const urls = arr(rule['nonResourceURLs']);
  if (urls.length > 0) {
    if (namespaced)
      errors.push(
        invalid(`${at}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'),
      );
    if (arr(rule['apiGroups']).length + arr(rule['resources']).length + arr(rule['resourceNames']).length > 0)
      errors.push(
        invalid(
          `${at}.nonResourceURLs`,
          urls,
          'rules cannot apply to both regular resources and non-resource URLs',
        ),
      );
    return errors;
  }
  if (arr(rule['apiGroups']).length === 0)
    errors.push(required(`${at}.apiGroups`, 'resource rules must supply at least one api group'));
  if (arr(rule['resources']).length === 0)
    errors.push(required(`${at}.resources`, 'resource rules must supply at least one resource'));
  return errors;
}

export const validateRole =
  (namespaced: boolean) =>
  (role: JsonObject): Errors => [
    ...objs(role['rules']).flatMap((rule, i) => ruleErrors(rule, `rules[${i}]`, namespaced)),
    ...objs(obj(role['aggregationRule'])['clusterRoleSelectors']).flatMap((s, i) =>
      labelSelector(`aggregationRule.clusterRoleSelectors[${i}]`, s),
    ),
  ];

function subjectErrors(subject: JsonObject, at: string, namespaced: boolean): Errors {
  const errors: Errors = [];
  const name = str(subject['name']);
  if (name === '') errors.push(required(`${at}.name`));
  const apiGroup = str(subject['apiGroup']);
  switch (subject['kind']) {
    case 'ServiceAccount':
      if (name !== '') errors.push(...each(`${at}.name`, name, dnsSubdomain));
      if (apiGroup !== '') errors.push(notSupported(`${at}.apiGroup`, apiGroup, ['']));
      if (!namespaced && str(subject['namespace']) === '') errors.push(required(`${at}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (apiGroup !== group) errors.push(notSupported(`${at}.apiGroup`, apiGroup, [group]));
      break;
    default:
      errors.push(notSupported(`${at}.kind`, subject['kind'] ?? '', ['Group', 'ServiceAccount', 'User']));
  }
  return errors;
}

export const validateBinding =
  (namespaced: boolean) =>
  (binding: JsonObject): Errors => {
    const ref = obj(binding['roleRef']);
    const errors: Errors = [];
    if (str(ref['apiGroup']) !== group)
      errors.push(notSupported('roleRef.apiGroup', ref['apiGroup'] ?? '', [group]));
    errors.push(
      ...oneOf('roleRef.kind', ref['kind'], namespaced ? ['ClusterRole', 'Role'] : ['ClusterRole']),
    );
    if (str(ref['name']) === '') errors.push(required('roleRef.name'));
    else errors.push(...each('roleRef.name', ref['name'], pathSegment));
    return [
      ...errors,
      ...objs(binding['subjects']).flatMap((s, i) => subjectErrors(s, `subjects[${i}]`, namespaced)),
    ];
  };

export const roleRefStays = (binding: JsonObject, old: JsonObject): Errors =>
  semanticEqual(binding['roleRef'], old['roleRef'])
    ? []
    : [invalid('roleRef', binding['roleRef'] ?? null, 'cannot change roleRef')];
