// Judges a pod by a level and the version of its rules.
import { baselineChecks } from './baseline-checks.ts';
import type { JudgedPod, PodSecurityCheck, Violation } from './pod-visitor.ts';
import type { LevelVersion } from './policy.ts';
import { restrictedChecks } from './restricted-checks.ts';

/** Kubernetes' minor whose rules are the latest. */
export const latestMinor = 36;

type Rule = PodSecurityCheck['versions'][number];

const ruleAt = (check: PodSecurityCheck, minor: number): Rule | undefined =>
  check.versions.findLast((version) => version.since <= minor);

export function violationsOf({ level, minor }: LevelVersion, pod: JudgedPod): readonly Violation[] {
  if (level === 'privileged') return [];
  const at = Math.min(minor ?? latestMinor, latestMinor);
  const restricted = level === 'baseline' ? [] : restrictedChecks.flatMap((check) => ruleAt(check, at) ?? []);
  const replaced = new Set(restricted.map((rule) => rule.overrides));
  const baseline = baselineChecks
    .filter((check) => !replaced.has(check.id))
    .flatMap((check) => ruleAt(check, at) ?? []);
  return [...baseline, ...restricted].flatMap((rule) => rule.check(pod) ?? []);
}

/** `privileged (…), hostPort (…)`, or '' when the pod is fine. */
export const violationText = (violations: readonly Violation[]): string =>
  violations.map(({ reason, detail }) => `${reason} (${detail})`).join(', ');
