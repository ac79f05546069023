// The objects that priority and fairness cannot be without: nobody changes what they say.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';

interface Fixed {
  readonly spec: JsonObject;
  /** A member that may be anything. */
  readonly except?: string;
}

const everything = (...groups: string[]): JsonObject => ({
  subjects: groups.map((name) => ({ kind: 'Group', group: { name } })),
  resourceRules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
  ],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
});

export const fixedFlowSchemas: ReadonlyMap<string, Fixed> = new Map([
  [
    'exempt',
    {
      spec: {
        priorityLevelConfiguration: { name: 'exempt' },
        matchingPrecedence: 1,
        rules: [everything('system:masters')],
      },
    },
  ],
  [
    'catch-all',
    {
      spec: {
        priorityLevelConfiguration: { name: 'catch-all' },
        matchingPrecedence: 10_000,
        distinguisherMethod: { type: 'ByUser' },
        rules: [everything('system:unauthenticated', 'system:authenticated')],
      },
    },
  ],
]);

export const fixedPriorityLevels: ReadonlyMap<string, Fixed> = new Map<string, Fixed>([
  ['exempt', { spec: { type: 'Exempt' }, except: 'exempt' }],
  [
    'catch-all',
    {
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
      },
    },
  ],
]);

export function staysAsItIs(
  fixed: ReadonlyMap<string, Fixed>,
  object: {
    readonly metadata?: { readonly name?: string | undefined } | undefined;
    readonly spec?: object | undefined;
  },
): Errors {
  const name = object.metadata?.name ?? '';
  const found = fixed.get(name);
  if (found === undefined) return [];
  const { except = '' } = found;
  if (semanticEqual({ ...(object.spec ?? {}), [except]: null }, { ...found.spec, [except]: null })) return [];
  const but = except === '' ? '' : ` except the 'spec.${except}' field`;
  return [invalid('spec', object.spec ?? {}, `spec of '${name}'${but} must equal the fixed value`)];
}
