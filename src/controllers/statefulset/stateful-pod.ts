// The pods and claims of a StatefulSet: each has its number, its name and its storage.
import { statefulsets } from '../../api/generated/resources.ts';
import type { StatefulSet } from '../../api/generated/types/apps-v1.ts';
import type { PersistentVolumeClaim, Pod, PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { controllerReference } from '../../controller-runtime/owner-reference.ts';
import { revisionHashLabel } from '../daemon/revision-history.ts';

const podNameLabel = 'statefulset.kubernetes.io/pod-name';
const podIndexLabel = 'apps.kubernetes.io/pod-index';

/** -1 for a pod that is not named as one of the set. */
export function ordinalOf(set: StatefulSet, pod: Pod): number {
  const prefix = `${set.metadata.name}-`;
  const text = pod.metadata.name.startsWith(prefix) ? pod.metadata.name.slice(prefix.length) : '';
  return /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : -1;
}

export const startOf = (set: StatefulSet): number => set.spec?.ordinals?.start ?? 0;
const claimName = (template: string, podName: string): string => `${template}-${podName}`;

/** A revision of the set's template. Its pods are labelled with its name. */
export interface StatefulRevision {
  readonly name: string;
  readonly template: PodTemplateSpec;
}

const maxLabelValue = 63;

/** Its name; of a set whose own is so long that no label holds both, the hash alone. */
const labelOf = ({ metadata }: StatefulSet, { name }: StatefulRevision): string =>
  name.length > maxLabelValue ? name.slice(metadata.name.length + 1) : name;

/** Whether a pod is of a revision: earlier versions of this controller wrote its hash alone. */
export function isOfRevision(set: StatefulSet, pod: Pod, revision: string): boolean {
  const label = pod.metadata.labels?.[revisionHashLabel];
  return label === revision || `${set.metadata.name}-${label}` === revision;
}

/** The labels that name it, which somebody may have taken away. */
const identityOf = (podName: string, ordinal: number): Record<string, string> => ({
  [podNameLabel]: podName,
  [podIndexLabel]: String(ordinal),
});

export function statefulPod(set: StatefulSet, ordinal: number, revision: StatefulRevision): Pod {
  const { name, namespace } = set.metadata;
  const podName = `${name}-${ordinal}`;
  const { metadata, spec } = revision.template;
  const templates = set.spec?.volumeClaimTemplates ?? [];
  const own = new Set(templates.map((template) => template.metadata.name));
  const volumes = [
    ...(spec?.volumes ?? []).filter((volume) => !own.has(volume.name)),
    ...templates.map((template) => ({
      name: template.metadata.name,
      persistentVolumeClaim: { claimName: claimName(template.metadata.name, podName), readOnly: false },
    })),
  ];
  const { serviceName } = set.spec ?? {};
  return {
    metadata: {
      name: podName,
      namespace,
      labels: {
        ...metadata?.labels,
        [revisionHashLabel]: labelOf(set, revision),
        ...identityOf(podName, ordinal),
      },
      ...(metadata?.annotations === undefined ? {} : { annotations: metadata.annotations }),
      ...(metadata?.finalizers === undefined ? {} : { finalizers: metadata.finalizers }),
      ownerReferences: [controllerReference(statefulsets, set)],
    },
    spec: {
      ...(spec ?? { containers: [] }),
      hostname: podName,
      ...(serviceName === undefined || serviceName === '' ? {} : { subdomain: serviceName }),
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

/** The labels that a pod is to have; undefined when it has them. */
export function identityLabels(set: StatefulSet, pod: Pod): Record<string, string> | undefined {
  const { metadata } = pod;
  const wanted = identityOf(metadata.name, ordinalOf(set, pod));
  const has = Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value);
  return has ? undefined : { ...metadata.labels, ...wanted };
}

/** Whether a claim of this name would be of a pod of the set. */
export const mayClaim = (set: StatefulSet, claimName: string): boolean =>
  (set.spec.volumeClaimTemplates ?? []).some(({ metadata }) => {
    const prefix = `${metadata.name}-${set.metadata.name}-`;
    return claimName.startsWith(prefix) && /^[0-9]{1,10}$/.test(claimName.slice(prefix.length));
  });

/** The claims of one pod. */
export function claimsOfSet(set: StatefulSet, podName: string): PersistentVolumeClaim[] {
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => ({
    ...template,
    metadata: {
      ...template.metadata,
      name: claimName(template.metadata.name, podName),
      namespace: set.metadata.namespace,
      labels: { ...template.metadata.labels, ...set.spec?.selector.matchLabels },
    },
  }));
}
