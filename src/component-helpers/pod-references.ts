// Secrets, config maps and claims that a pod names, wherever it does.
import type { Pod } from '../api/generated/types/core-v1.ts';

const envSources = (pod: Pod): { secrets: string[]; configmaps: string[] } => {
  const found = { secrets: [] as string[], configmaps: [] as string[] };
  const spec = pod.spec;
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  for (const container of containers) {
    for (const from of container.envFrom ?? []) {
      if (from.secretRef?.name !== undefined) found.secrets.push(from.secretRef.name);
      if (from.configMapRef?.name !== undefined) found.configmaps.push(from.configMapRef.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      if (valueFrom?.secretKeyRef?.name !== undefined) found.secrets.push(valueFrom.secretKeyRef.name);
      if (valueFrom?.configMapKeyRef?.name !== undefined) {
        found.configmaps.push(valueFrom.configMapKeyRef.name);
      }
    }
  }
  return found;
};

const secretRefsOf = (source: object | undefined): string[] =>
  Object.entries(source ?? {}).flatMap(([key, value]) =>
    /secretref$/i.test(key) && typeof value === 'object' && value !== null && 'name' in value
      ? [String(value.name)]
      : key === 'secretName' && typeof value === 'string'
        ? [value]
        : [],
  );

export function volumeSources(pod: Pod): { secrets: string[]; configmaps: string[]; claims: string[] } {
  const found = { secrets: [] as string[], configmaps: [] as string[], claims: [] as string[] };
  for (const volume of pod.spec?.volumes ?? []) {
    if (volume.configMap?.name !== undefined) found.configmaps.push(volume.configMap.name);
    if (volume.persistentVolumeClaim !== undefined) found.claims.push(volume.persistentVolumeClaim.claimName);
    if (volume.ephemeral !== undefined) found.claims.push(`${pod.metadata?.name}-${volume.name}`);
    for (const source of volume.projected?.sources ?? []) {
      if (source.secret?.name !== undefined) found.secrets.push(source.secret.name);
      if (source.configMap?.name !== undefined) found.configmaps.push(source.configMap.name);
    }
    for (const [kind, source] of Object.entries(volume)) {
      if (kind !== 'projected' && typeof source === 'object' && source !== null) {
        found.secrets.push(...secretRefsOf(source));
      }
    }
  }
  return found;
}

/** Names of the secrets and config maps that a pod would have its kubelet read. */
export const secretsOf = (pod: Pod): string[] => [
  ...(pod.spec?.imagePullSecrets ?? []).map((ref) => ref.name ?? ''),
  ...envSources(pod).secrets,
  ...volumeSources(pod).secrets,
];
export const configMapsOf = (pod: Pod): string[] => [
  ...envSources(pod).configmaps,
  ...volumeSources(pod).configmaps,
];
