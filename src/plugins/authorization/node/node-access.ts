// What a node's pods make it need: the secrets, config maps, claims and volumes that its own pods name.
import {
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  resourceslices,
  volumeattachments,
} from '../../../api/generated/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../../api/generated/types/core-v1.ts';
import type { LiveObjects } from '../../../apiserver/live-objects.ts';
import { configMapsOf, secretsOf, volumeSources } from '../../../component-helpers/pod-references.ts';

export type NodeNeed =
  | 'secrets'
  | 'configmaps'
  | 'persistentvolumeclaims'
  | 'persistentvolumes'
  | 'serviceaccounts'
  | 'resourceclaims'
  | 'resourceslices'
  | 'volumeattachments';

const claimsOf = (pod: Pod): string[] =>
  (pod.spec?.resourceClaims ?? []).flatMap((claim) => {
    const status = pod.status?.resourceClaimStatuses?.find((s) => s.name === claim.name);
    return [claim.resourceClaimName, status?.resourceClaimName].filter((n): n is string => n !== undefined);
  });

const isBoundTo = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean => {
  const ref = volume.spec?.claimRef;
  return (
    ref?.name === claim.metadata?.name &&
    ref?.namespace === claim.metadata?.namespace &&
    (ref?.uid === undefined || ref.uid === claim.metadata?.uid)
  );
};

export interface NodeAccess {
  /** True when a pod of the node, or a volume of such a pod, names the object. */
  needs(node: string, what: NodeNeed, name: string, namespace: string): boolean;
  /** True when the pod is bound to the node. */
  isBound(node: string, pod: string, namespace: string): boolean;
}

export function createNodeAccess(live: LiveObjects): NodeAccess {
  /** Mirror pods are the node's own word: what they name, it may not read for that. */
  const podsOf = (node: string): readonly Pod[] =>
    live
      .list(pods, { field: { name: 'spec.nodeName', value: node } })
      .filter(({ metadata }) => metadata?.annotations?.['kubernetes.io/config.mirror'] === undefined);

  /** A claim may name any volume: whose it is, the volume says. As upstream's graph, which follows `claimRef` alone. */
  const volumesOf = (node: string): { namespace: string; volume: PersistentVolume }[] =>
    podsOf(node).flatMap((pod) => {
      const namespace = pod.metadata?.namespace ?? '';
      return volumeSources(pod).claims.flatMap((name) => {
        const claim = live.get(persistentvolumeclaims, name, namespace);
        const volume = live.get(persistentvolumes, claim?.spec?.volumeName ?? '');
        return claim !== undefined && volume !== undefined && isBoundTo(volume, claim)
          ? [{ namespace, volume }]
          : [];
      });
    });

  const secretOfVolume = (node: string, name: string, namespace: string): boolean =>
    volumesOf(node).some((held) =>
      Object.values(held.volume.spec ?? {}).some((source) => {
        if (typeof source !== 'object' || source === null) return false;
        return Object.entries(source).some(
          ([key, ref]) =>
            /secretref$/i.test(key) &&
            !key.startsWith('controller') &&
            typeof ref === 'object' &&
            ref !== null &&
            'name' in ref &&
            ref.name === name &&
            (('namespace' in ref ? ref.namespace : undefined) ?? held.namespace) === namespace,
        );
      }),
    );

  const podNeeds = (pod: Pod, what: NodeNeed, name: string): boolean => {
    switch (what) {
      case 'secrets':
        return secretsOf(pod).includes(name);
      case 'configmaps':
        return configMapsOf(pod).includes(name);
      case 'persistentvolumeclaims':
        return volumeSources(pod).claims.includes(name);
      case 'serviceaccounts':
        return pod.spec?.serviceAccountName === name;
      case 'resourceclaims':
        return claimsOf(pod).includes(name);
      default:
        return false;
    }
  };

  return {
    isBound: (node, pod, namespace) => live.get(pods, pod, namespace)?.spec?.nodeName === node,
    needs(node, what, name, namespace) {
      if (what === 'persistentvolumes')
        return volumesOf(node).some(({ volume }) => volume.metadata?.name === name);
      if (what === 'resourceslices') return live.get(resourceslices, name)?.spec.nodeName === node;
      if (what === 'volumeattachments') return live.get(volumeattachments, name)?.spec.nodeName === node;
      const own = podsOf(node).filter((pod) => pod.metadata?.namespace === namespace);
      if (own.some((pod) => podNeeds(pod, what, name))) return true;
      return what === 'secrets' && secretOfVolume(node, name, namespace);
    },
  };
}
