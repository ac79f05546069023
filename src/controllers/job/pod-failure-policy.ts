// What a job's policy says of a pod that failed. Pure.
import type { Job, PodFailurePolicyRule } from '../../api/generated/types/batch-v1.ts';
import type { ContainerStatus, Pod } from '../../api/generated/types/core-v1.ts';

export interface FailureVerdict {
  readonly action: 'FailJob' | 'FailIndex' | 'Ignore' | 'Count';
  /** Why the whole job fails. */
  readonly message?: string;
}

/** Containers that succeeded are no reason for anything. */
function containerOf(pod: Pod, { onExitCodes }: PodFailurePolicyRule): ContainerStatus | undefined {
  if (onExitCodes === undefined) return undefined;
  const { containerName, operator, values } = onExitCodes;
  return [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].find(
    ({ name, state }) => {
      const exitCode = state?.terminated?.exitCode ?? 0;
      if (exitCode === 0 || (containerName !== undefined && containerName !== name)) return false;
      return values.includes(exitCode) === (operator === 'In');
    },
  );
}

function why(pod: Pod, rule: PodFailurePolicyRule, at: number): string | undefined {
  const title = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const matching = `matching ${rule.action} rule at index ${at}`;
  const container = containerOf(pod, rule);
  if (container !== undefined)
    return `Container ${container.name} for pod ${title} failed with exit code ${container.state?.terminated?.exitCode} ${matching}`;
  const condition = pod.status?.conditions?.find(({ type, status }) =>
    rule.onPodConditions?.some((pattern) => pattern.type === type && (pattern.status ?? 'True') === status),
  );
  return condition === undefined ? undefined : `Pod ${title} has condition ${condition.type} ${matching}`;
}

/** The first rule that fits decides; without one the failure counts. */
export function failureVerdict(job: Job, pod: Pod): FailureVerdict {
  for (const [at, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const message = why(pod, rule, at);
    if (message === undefined) continue;
    if (rule.action === 'FailJob') return { action: 'FailJob', message };
    if (rule.action === 'Ignore') return { action: 'Ignore' };
    return { action: rule.action === 'FailIndex' ? 'FailIndex' : 'Count' };
  }
  return { action: 'Count' };
}
