// The pods of a job: their index, their tracking finalizer, and how they end.
import type { Job } from '../../api/generated/types/batch-v1.ts';
import type { Container, Pod, PodSpec } from '../../api/generated/types/core-v1.ts';
import type { PodTemplate } from '../workload/pod-control.ts';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
export const indexKey = 'batch.kubernetes.io/job-completion-index';

export const isIndexed = (job: Job): boolean => job.spec?.completionMode === 'Indexed';
export const isTracked = (pod: Pod): boolean => pod.metadata.finalizers?.includes(trackingFinalizer) === true;

export function indexOf(pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[indexKey];
  return text !== undefined && /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : undefined;
}

/** A pod that is deleted before it ends may never say how it ended: it counts as failed. */
export const hasFailed = (job: Job, pod: Pod): boolean =>
  pod.status?.phase === 'Failed' ||
  (job.spec?.podReplacementPolicy !== 'Failed' &&
    pod.metadata.deletionTimestamp !== undefined &&
    pod.status?.phase !== 'Succeeded');

/** When the last container of a finished pod ended. */
export function finishedAt(pod: Pod): number {
  const times = (pod.status?.containerStatuses ?? []).map((status) =>
    Date.parse(status.state?.terminated?.finishedAt ?? ''),
  );
  const known = times.filter((time) => !Number.isNaN(time));
  if (known.length > 0) return Math.max(...known);
  return Date.parse(pod.metadata.deletionTimestamp ?? pod.metadata.creationTimestamp ?? '') || 0;
}

/** Of names that end in five random characters. */
const longestBase = 58;

/** What the name of a pod of an index begins with: the index is never cut off. */
export function indexedBase({ metadata }: Job, index: number): string {
  const end = `-${index}-`;
  return `${metadata.name.slice(0, longestBase - end.length)}${end}`;
}

const indexVariable = 'JOB_COMPLETION_INDEX';
function withIndex(container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable) === true) return container;
  const valueFrom = { fieldRef: { fieldPath: `metadata.labels['${indexKey}']` } };
  return { ...container, env: [...(container.env ?? []), { name: indexVariable, valueFrom }] };
}

/** The template of one pod; `index` is set for indexed jobs, `more` are annotations of its own. */
export function jobPodTemplate(
  job: Job,
  index: number | undefined,
  more: Readonly<Record<string, string>> = {},
): PodTemplate {
  const { metadata, spec } = job.spec?.template ?? {};
  const finalizers = [...(metadata?.finalizers ?? []), trackingFinalizer];
  if (index === undefined) return { metadata: { ...metadata, finalizers }, spec };
  const numbered = { [indexKey]: String(index) };
  const base: PodSpec = spec ?? { containers: [] };
  return {
    metadata: {
      ...metadata,
      finalizers,
      annotations: { ...metadata?.annotations, ...numbered, ...more },
      labels: { ...metadata?.labels, ...numbered },
    },
    spec: {
      ...base,
      hostname: `${job.metadata.name}-${index}`.slice(-63),
      containers: base.containers.map(withIndex),
      ...(base.initContainers === undefined ? {} : { initContainers: base.initContainers.map(withIndex) }),
    },
  };
}
