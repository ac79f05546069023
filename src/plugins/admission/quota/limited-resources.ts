// What nobody may use without a quota that covers it, as the administrator's configuration says.
import type { LimitedResource } from '../../../api/config/resource-quota-configuration.ts';
import type { Pod, ResourceQuota } from '../../../api/generated/types/core-v1.ts';
import { compareQuantities, zeroQuantity } from '../../../apimachinery/quantity.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import {
  isUnderQuota,
  matchingScopes,
  quotaScopes,
  type ScopeRequirement,
  type Usage,
} from '../../../component-helpers/quota-usage.ts';
import { plainRefusal } from '../request/plain-refusal.ts';
import { refuse } from '../request/refuse.ts';
import { hardOf } from './quota-room.ts';

/** As Go prints the requirement. */
const goText = ({ scopeName, operator, values = [] }: ScopeRequirement): string =>
  `{${scopeName} ${operator} [${values.join(' ')}]}`;

/** Throws when something that is limited is used, and no quota says how much of it there is. */
export function checkLimited(
  request: AdmissionRequest,
  { usage, pod }: { readonly usage: Usage; readonly pod: Pod | undefined },
  limited: readonly LimitedResource[],
  quotas: readonly ResourceQuota[],
): void {
  const { group, resource } = request.declaration;
  const rules = limited.filter((one) => one.apiGroup === group && one.resource === resource);
  const used = [...usage].filter(([, amount]) => compareQuantities(amount, zeroQuantity) > 0);
  const names = used
    .map(([name]) => name)
    .filter((name) => rules.some((rule) => rule.matchContains.some((part) => name.includes(part))));
  const covered = new Set(
    quotas.filter((quota) => isUnderQuota(quota, pod)).flatMap((quota) => [...hardOf(quota).keys()]),
  );
  const uncovered = names.filter((name) => !covered.has(name));
  if (uncovered.length > 0) refuse(request, `insufficient quota to consume: ${uncovered.sort().join(',')}`);
  if (pod === undefined || used.length === 0) return;
  const scopes = limited.flatMap((rule) => matchingScopes(pod, rule.matchScopes));
  if (scopes.length === 0) return;
  const there = new Set(
    quotas.flatMap((quota) => matchingScopes(pod, quotaScopes(quota)).map(({ scopeName }) => scopeName)),
  );
  const missing = scopes.filter(({ scopeName }) => !there.has(scopeName));
  if (missing.length > 0)
    throw plainRefusal(`insufficient quota to match these scopes: [${missing.map(goText).join(' ')}]`);
}
