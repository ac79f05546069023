// Fills roles that are made of others: `admin`, `edit`, `view` take the rules of roles labelled for them.
import { clusterroles } from '../api/generated/resources.ts';
import type { ClusterRole, PolicyRule } from '../api/generated/types/rbac-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { matchesSelector, selectorFrom } from '../apimachinery/label-selector.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { canonicalJson } from './workload/template-hash.ts';

/** Rules of all roles that the selectors match, in the order of their names, each once. */
function aggregatedRules(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const rules = new Map<string, PolicyRule>();
  const sorted = [...all].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const labels of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selector = selectorFrom(labels);
    for (const other of sorted) {
      if (other.metadata.name === role.metadata.name || !matchesSelector(selector, other.metadata.labels))
        continue;
      for (const rule of other.rules ?? []) rules.set(canonicalJson(rule), rule);
    }
  }
  return [...rules.values()];
}

export const clusterRoleAggregationController: Controller = defineController({
  name: 'clusterrole-aggregation-controller',
  queue: 'ClusterRoleAggregator',
  serviceAccount: 'clusterrole-aggregation-controller',
  for: clusterroles,
  access: [may(['escalate', 'update'], clusterroles)],
  watches: [
    watching(clusterroles, (_, __, context) =>
      context
        .read(clusterroles)
        .list()
        .filter((role) => role.aggregationRule !== undefined)
        .map((role) => role.metadata.name),
    ),
  ],
  async reconcile({ name }, context) {
    const role = context.read(clusterroles).get(name);
    if (role?.aggregationRule === undefined) return undefined;
    const rules = aggregatedRules(role, context.read(clusterroles).list());
    const inOrder = (list: readonly PolicyRule[]): string[] => list.map(canonicalJson).sort();
    if (semanticEqual(inOrder(rules), inOrder(role.rules ?? []))) return undefined;
    await context.write.update(clusterroles, { ...role, rules });
    return undefined;
  },
});
