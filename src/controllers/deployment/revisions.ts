// Which replica set is the new one, which revision it has, and what it inherits from the deployment.
import { deployments } from '../../api/generated/resources.ts';
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { plainTemplate, storedTemplate } from '../workload/plain-template.ts';
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

/** An int64 as Go reads one; undefined when it is none. Tools and backups write numbers beyond 2^53. */
function parseRevision(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]{1,19}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
export const revisionOf = (object: Deployment | ReplicaSet): bigint =>
  parseRevision(object.metadata.annotations?.[revisionAnnotation] ?? '') ?? 0n;
/** One above all others'. As upstream it turns over after the largest int64, and is then given to nothing. */
export function nextRevision(list: readonly ReplicaSet[]): bigint {
  const highest = list.map(revisionOf).reduce((most, one) => (one > most ? one : most), 0n);
  return BigInt.asIntN(64, highest + 1n);
}

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
  revision: bigint,
): Record<string, string> {
  const annotations: Record<string, string> = { ...current };
  for (const [key, value] of Object.entries(d.metadata.annotations ?? {}))
    if (!notInherited.has(key)) annotations[key] = value;
  const before = current?.[revisionAnnotation];
  const held = before === undefined || before === '' ? 0n : parseRevision(before);
  if (held !== undefined && held < revision) {
    annotations[revisionAnnotation] = String(revision);
    if (before !== undefined && before !== '')
      annotations[revisionHistoryAnnotation] = appended(current?.[revisionHistoryAnnotation], before);
  }
  return current === undefined ? { ...annotations, ...replicaAnnotations(d) } : annotations;
}

/** The replica set of the deployment's present template. */
export function newReplicaSet(d: Deployment, old: readonly ReplicaSet[], revision: bigint): ReplicaSet {
  const hash = templateHash(storedTemplate(d.spec.template), d.status?.collisionCount);
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
