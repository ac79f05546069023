// What a namespace's new level would have refused of the pods that it has: warnings for who sets it.
import type { Pod } from '../../../api/generated/types/core-v1.ts';
import { violationsOf } from './evaluate.ts';
import { type LevelVersion, levelText } from './policy.ts';

/** Upstream's namespaceMaxPodsToCheck. */
const maxPods = 3000;

/** One of each controller first: the others are like it. */
function inOrder(pods: readonly Pod[]): Pod[] {
  const seen = new Set<string>();
  const first: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    const owner = pod.metadata?.ownerReferences?.find((o) => o.controller === true)?.uid;
    if (owner !== undefined && seen.has(owner)) others.push(pod);
    else first.push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...others];
}

const others = (count: number): string =>
  count === 0 ? '' : count === 1 ? ' (and 1 other pod)' : ` (and ${count} other pods)`;

export function warningsOfExistingPods(
  namespace: string,
  enforce: LevelVersion,
  pods: readonly Pod[],
): string[] {
  const checked = inOrder(pods).slice(0, maxPods);
  const byReasons = new Map<string, string[]>();
  for (const pod of checked) {
    const violations = violationsOf(enforce, {
      annotations: pod.metadata?.annotations ?? {},
      spec: pod.spec,
    });
    if (violations.length === 0) continue;
    const reasons = violations.map((v) => v.reason).join(', ');
    byReasons.set(reasons, [...(byReasons.get(reasons) ?? []), pod.metadata?.name ?? '']);
  }
  const warnings: string[] = [];
  if (checked.length < pods.length)
    warnings.push(
      `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
    );
  if (byReasons.size > 0)
    warnings.push(
      `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(levelText(enforce))}`,
    );
  const lines = [...byReasons].map(
    ([reasons, names]) => `${names.sort()[0]}${others(names.length - 1)}: ${reasons}`,
  );
  return [...warnings, ...lines.sort()];
}
