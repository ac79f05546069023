// Which replica set is the new one, which revision it has, and what it inherits from the deployment.
import { deployments } from '../../api/generated/resources.ts';
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { plainTemplate } from '../workload/plain-template.ts';
import { templateHash } from '../workload/template-hash.ts';
import {
  byAge,
  desiredAnnotation,
  maxAnnotation,
  maxSurgeOf,
  newReplicaSetSize,
  replicasOf,
  revisionAnnotation,
  revisionHistoryAnnotation,
} from './replica-counts.ts';

const hashLabel = 'pod-template-hash';
const maxHistoryLength = 2000;
const notInherited = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredAnnotation,
  maxAnnotation,
  'deprecated.deployment.rollback.to',
]);

function withoutHash(template: PodTemplateSpec | undefined): unknown {
  const { [hashLabel]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}
export const sameTemplate = (a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean =>
  semanticEqual(withoutHash(a), withoutHash(b));

/** The oldest one, should there be several: so that all who look agree. */
export function findNewReplicaSet(d: Deployment, all: readonly ReplicaSet[]): ReplicaSet | undefined {
  const sorted = [...all].sort(byAge);
  const found = sorted.find((rs) => sameTemplate(rs.spec?.template, d.spec.template));
  if (found !== undefined || sorted.length === 0) return found;
  const plain = plainTemplate(d.spec.template);
  return sorted.find((rs) => sameTemplate(plainTemplate(rs.spec?.template), plain));
}

export function revisionOf(object: Deployment | ReplicaSet): number {
  const text = object.metadata.annotations?.[revisionAnnotation];
  return text !== undefined && /^[0-9]{1,18}$/.test(text) ? Number(text) : 0;
}
export const maxRevision = (list: readonly ReplicaSet[]): number => Math.max(0, ...list.map(revisionOf));

/** Drops the oldest of a history that would grow without end. */
function appended(history: string | undefined, revision: string): string {
  const all = [...(history === undefined || history === '' ? [] : history.split(',')), revision];
  while (all.length > 1 && all.join(',').length > maxHistoryLength) all.shift();
  return all.join(',');
}

export const replicaAnnotations = (d: Deployment): Record<string, string> => ({
  [desiredAnnotation]: String(replicasOf(d)),
  [maxAnnotation]: String(replicasOf(d) + maxSurgeOf(d)),
});

/** Annotations of the new replica set: the deployment's own, and a revision above all others'. */
export function newAnnotations(
  d: Deployment,
  current: Readonly<Record<string, string>> | undefined,
  revision: number,
): Record<string, string> {
  const annotations: Record<string, string> = { ...current };
  for (const [key, value] of Object.entries(d.metadata.annotations ?? {}))
    if (!notInherited.has(key)) annotations[key] = value;
  const before = current?.[revisionAnnotation];
  if (Number(before ?? 0) < revision) {
    annotations[revisionAnnotation] = String(revision);
    if (before !== undefined && before !== '')
      annotations[revisionHistoryAnnotation] = appended(current?.[revisionHistoryAnnotation], before);
  }
  return current === undefined ? { ...annotations, ...replicaAnnotations(d) } : annotations;
}

/** The replica set of the deployment's present template. */
export function newReplicaSet(d: Deployment, old: readonly ReplicaSet[], revision: number): ReplicaSet {
  const hash = templateHash(d.spec.template, d.status?.collisionCount);
  const withHash = (labels: Readonly<Record<string, string>> | undefined): Record<string, string> => ({
    ...labels,
    [hashLabel]: hash,
  });
  const { template, selector, minReadySeconds } = d.spec;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${d.metadata.name}-${hash}`,
      namespace: d.metadata.namespace,
      labels: withHash(template.metadata?.labels),
      annotations: newAnnotations(d, undefined, revision),
      ownerReferences: [controllerReference(deployments, d)],
    },
    spec: {
      replicas: newReplicaSetSize(d, old, 0),
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: withHash(selector.matchLabels) },
      template: {
        ...template,
        metadata: { ...template.metadata, labels: withHash(template.metadata?.labels) },
      },
    },
  } as ReplicaSet;
}
