// FlowSchemas: which requests they take, and to which priority level.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { type Errors, each, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../generated/types/flowcontrol-v1.ts';
import { fixedFlowSchemas, staysAsItIs } from './fixed-objects.ts';

const maxPrecedence = 10_000;
const supportedVerbs: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'proxy',
  'update',
  'watch',
];
const subjectKinds = [
  { kind: 'ServiceAccount', field: 'serviceAccount' },
  { kind: 'User', field: 'user' },
  { kind: 'Group', field: 'group' },
] as const;

const hasWildcard = (list: readonly string[]): boolean => list.includes('*');

function subjectErrors(subject: Decoded<Subject>, at: string): Errors {
  const chosen = subjectKinds.find(({ kind }) => kind === subject.kind);
  if (chosen === undefined)
    return [
      notSupported(
        `${at}.kind`,
        subject.kind ?? '',
        subjectKinds.map(({ kind }) => kind),
      ),
    ];
  const { kind, field } = chosen;
  const errors: Errors = [];
  const value = subject[field];
  const path = `${at}.${field}`;
  if (value === undefined) errors.push(required(path, `${field} is required when subject kind is '${kind}'`));
  else {
    const { name = '', namespace = '' }: { name?: string | undefined; namespace?: string | undefined } =
      value;
    if (name === '') errors.push(required(`${path}.name`));
    else if (kind === 'ServiceAccount' && name !== '*')
      errors.push(...each(`${path}.name`, name, dnsSubdomain));
    if (kind === 'ServiceAccount') {
      if (namespace === '')
        errors.push(required(`${path}.namespace`, 'must specify namespace for service account'));
      else errors.push(...each(`${path}.namespace`, namespace, dnsLabel));
    }
  }
  for (const other of subjectKinds)
    if (other !== chosen && subject[other.field] !== undefined)
      errors.push(
        forbidden(
          `${at}.${other.field}`,
          `${other.field} is forbidden when subject kind is not '${other.kind}'`,
        ),
      );
  return errors;
}

function verbErrors(verbs: readonly string[] = [], at: string): Errors {
  if (verbs.length === 0) return [required(at, 'verbs must contain at least one value')];
  if (hasWildcard(verbs))
    return verbs.length > 1 ? [invalid(at, verbs, "if '*' is present, must not specify other verbs")] : [];
  return verbs.every((verb) => supportedVerbs.includes(verb))
    ? []
    : [notSupported(at, verbs, supportedVerbs)];
}

/** What must hold something, and nothing beside a star. */
function listErrors(list: readonly string[], at: string, empty: string, others: string): Errors {
  if (list.length === 0) return [required(at, empty)];
  return list.length > 1 && hasWildcard(list)
    ? [invalid(at, list, `if '*' is present, must not specify other ${others}`)]
    : [];
}

function pathErrors(path: string, at: string): Errors {
  const says = (why: string): Errors => [invalid(at, path, why)];
  if (path === '') return says('must not be empty');
  if (path === '/') return [];
  if (!path.startsWith('/')) return says('must start with slash');
  if (path.includes(' ')) return says('must not contain white-space');
  if (path.includes('//')) return says('must not contain double slash');
  const star = path.indexOf('*');
  return star >= 0 && (star !== path.length - 1 || !path.endsWith('/*'))
    ? says('wildcard can only do suffix matching')
    : [];
}

function nonResourceErrors(rule: Decoded<NonResourcePolicyRule>, at: string): Errors {
  const urls = rule.nonResourceURLs ?? [];
  const field = `${at}.nonResourceURLs`;
  return [
    ...verbErrors(rule.verbs, `${at}.verbs`),
    ...listErrors(urls, field, 'nonResourceURLs must contain at least one value', 'non-resource URLs'),
    ...(hasWildcard(urls) ? [] : urls.flatMap((url, i) => pathErrors(url, `${field}[${i}]`))),
  ];
}

function namespaceErrors(rule: Decoded<ResourcePolicyRule>, at: string): Errors {
  const namespaces = rule.namespaces ?? [];
  if (namespaces.length === 0 && rule.clusterScope === true) return [];
  const errors = listErrors(
    namespaces,
    at,
    'resource rules that are not cluster scoped must supply at least one namespace',
    'namespaces',
  );
  if (hasWildcard(namespaces)) return errors;
  const why = "each member of this list must be '*' or a DNS-1123 label; ";
  return [
    ...errors,
    ...namespaces.flatMap((name, i) =>
      dnsLabel(name).map((text) => invalid(`${at}[${i}]`, name, why + text)),
    ),
  ];
}

function resourceErrors(rule: Decoded<ResourcePolicyRule>, at: string): Errors {
  const supply = (what: string): string => `resource rules must supply at least one ${what}`;
  return [
    ...verbErrors(rule.verbs, `${at}.verbs`),
    ...listErrors(rule.apiGroups ?? [], `${at}.apiGroups`, supply('api group'), 'api groups'),
    ...listErrors(rule.resources ?? [], `${at}.resources`, supply('resource'), 'resources'),
    ...namespaceErrors(rule, `${at}.namespaces`),
  ];
}

function ruleErrors(rule: Decoded<PolicyRulesWithSubjects>, at: string): Errors {
  const subjects = rule.subjects ?? [];
  const resources = rule.resourceRules ?? [];
  const others = rule.nonResourceRules ?? [];
  return [
    ...(subjects.length === 0
      ? [required(`${at}.subjects`, 'subjects must contain at least one value')]
      : []),
    ...subjects.flatMap((subject, i) => subjectErrors(subject, `${at}.subjects[${i}]`)),
    ...(resources.length + others.length === 0
      ? [required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty')]
      : []),
    ...resources.flatMap((r, i) => resourceErrors(r, `${at}.resourceRules[${i}]`)),
    ...others.flatMap((r, i) => nonResourceErrors(r, `${at}.nonResourceRules[${i}]`)),
  ];
}

function precedenceErrors(precedence: number, name: string): Errors {
  const at = 'spec.matchingPrecedence';
  if (precedence <= 0) return [invalid(at, precedence, 'must be a positive value')];
  if (precedence > maxPrecedence)
    return [invalid(at, precedence, `must not be greater than ${maxPrecedence}`)];
  return precedence === 1 && name !== 'exempt'
    ? [invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")]
    : [];
}

export function validateFlowSchema(schema: Decoded<FlowSchema>): Errors {
  const own = schema.spec ?? {};
  const level = own.priorityLevelConfiguration?.name ?? '';
  const at = 'spec.priorityLevelConfiguration.name';
  const method = own.distinguisherMethod;
  return [
    ...precedenceErrors(own.matchingPrecedence ?? 0, schema.metadata?.name ?? ''),
    ...(method !== undefined
      ? oneOf('spec.distinguisherMethod.type', method.type, ['ByNamespace', 'ByUser'])
      : []),
    ...(level === '' ? [required(at, 'must reference a priority level')] : each(at, level, dnsSubdomain)),
    ...(own.rules ?? []).flatMap((rule, i) => ruleErrors(rule, `spec.rules[${i}]`)),
    ...staysAsItIs(fixedFlowSchemas, schema),
  ];
}
