// audit.k8s.io/v1 Policy: what is written of which request, as a file says it.
import { type ConfigShape, unknownFieldsOf } from '../../apimachinery/config-shape.ts';
import { type FieldError, invalid, notSupported, required } from '../../apimachinery/field-error.ts';
import { dns1123SubdomainErrors } from '../../apimachinery/labels.ts';
import { parseYaml } from '../../base/yaml.ts';

const auditGroup = 'audit.k8s.io';
export const auditApiVersion: string = `${auditGroup}/v1`;

const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];
const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

export interface GroupResources {
  readonly group?: string | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
}

export interface AuditPolicyRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[] | undefined;
  readonly userGroups?: readonly string[] | undefined;
  readonly verbs?: readonly string[] | undefined;
  readonly resources?: readonly GroupResources[] | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

export interface AuditPolicy {
  readonly rules: readonly AuditPolicyRule[];
  readonly omitStages?: readonly AuditStage[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

const shape: ConfigShape = {
  apiVersion: 'string',
  kind: 'string',
  metadata: 'object',
  omitStages: ['string'],
  omitManagedFields: 'boolean',
  rules: [
    {
      level: 'string',
      users: ['string'],
      userGroups: ['string'],
      verbs: ['string'],
      resources: [{ group: 'string', resources: ['string'], resourceNames: ['string'] }],
      namespaces: ['string'],
      nonResourceURLs: ['string'],
      omitStages: ['string'],
      omitManagedFields: 'boolean',
    },
  ],
};

export interface ReadPolicy {
  readonly policy: AuditPolicy;
  /** Fields that the file names and no rule knows: they are a slip, and as upstream the rest holds. */
  readonly unknownFields: readonly string[];
}

/** Throws Error with what is wrong. */
export function readAuditPolicy(text: string): ReadPolicy {
  const read = parseYaml(text);
  const unknown = unknownFieldsOf(read ?? {}, shape);
  const { apiVersion = '', kind = '' } = (read ?? {}) as { apiVersion?: string; kind?: string };
  if (kind === '') throw new Error("failed decoding: Object 'Kind' is missing in the policy");
  if (apiVersion !== auditApiVersion || kind !== 'Policy')
    throw new Error(
      `failed decoding: no kind "${kind}" is registered for version "${apiVersion}" of ${auditGroup}`,
    );
  const policy = { ...(read as object), rules: (read as Partial<AuditPolicy>).rules ?? [] } as AuditPolicy;
  const errors = validateAuditPolicy(policy);
  if (errors.length > 0) {
    const texts = errors.map((e) => `${e.field}: ${e.message}`);
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  if (policy.rules.length === 0) throw new Error('loaded illegal policy with 0 rules');
  return { policy, unknownFields: unknown };
}

const validateAuditPolicy = (policy: AuditPolicy): FieldError[] => [
  ...stageErrors(policy.omitStages, 'omitStages'),
  ...policy.rules.flatMap((rule, i) => ruleErrors(rule ?? {}, `rules[${i}]`)),
];

function ruleErrors(rule: AuditPolicyRule, path: string): FieldError[] {
  const errors = [
    ...levelErrors(rule.level, `${path}.level`),
    ...urlErrors(rule.nonResourceURLs ?? [], `${path}.nonResourceURLs`),
    ...resourceErrors(rule.resources ?? [], `${path}.resources`),
    ...stageErrors(rule.omitStages, `${path}.omitStages`),
  ];
  const both = (rule.resources?.length ?? 0) + (rule.namespaces?.length ?? 0) > 0;
  if ((rule.nonResourceURLs?.length ?? 0) > 0 && both)
    errors.push(
      invalid(
        `${path}.nonResourceURLs`,
        rule.nonResourceURLs,
        'rules cannot apply to both regular resources and non-resource URLs',
      ),
    );
  return errors;
}

function levelErrors(level: string | undefined, path: string): FieldError[] {
  if (level === undefined || level === '') return [required(path)];
  return (auditLevels as readonly string[]).includes(level)
    ? []
    : [notSupported(path, level, auditLevels, true)];
}

const urlErrors = (urls: readonly string[], path: string): FieldError[] =>
  urls.flatMap((url, i) => {
    if (url === '*') return [];
    const at = `${path}[${i}]`;
    return [
      ...(url.startsWith('/')
        ? []
        : [invalid(at, url, "non-resource URL rules must begin with a '/' character")]),
      ...(url.slice(0, -1).includes('*')
        ? [invalid(at, url, "non-resource URL wildcards '*' must be the final character of the rule")]
        : []),
    ];
  });

const resourceErrors = (resources: readonly GroupResources[], path: string): FieldError[] =>
  resources.flatMap((one) => {
    const { group = '', resources: names = [], resourceNames = [] } = one ?? {};
    const wrong = group === '' || group === '*' ? [] : dns1123SubdomainErrors(group);
    return [
      ...(wrong.length === 0 ? [] : [invalid(`${path}.group`, group, wrong.join(','))]),
      ...(resourceNames.length > 0 && names.length === 0
        ? [
            invalid(
              `${path}.resourceNames`,
              resourceNames,
              'using resourceNames requires at least one resource',
            ),
          ]
        : []),
    ];
  });

const stageErrors = (stages: readonly string[] | undefined, path: string): FieldError[] =>
  (stages ?? []).flatMap((stage, i) =>
    (auditStages as readonly string[]).includes(stage)
      ? []
      : [invalid(`${path}[${i}]`, stage, `allowed stages are ${auditStages.join(',')}`)],
  );
