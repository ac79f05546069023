// VolumeZone: a volume that names its zone or region is reached from nodes there only.
import type { PersistentVolume, Pod } from '../../api/generated/types/core-v1.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { classOf } from '../../component-helpers/volume-match.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { Plugin } from '../framework/plugin.ts';
import { skip, unresolvable } from '../framework/status.ts';
import { ofOwnClaim, type StorageView } from '../framework/storage.ts';

interface Place {
  readonly label: string;
  readonly values: readonly string[];
}
const key = stateKey<readonly Place[]>('VolumeZone');

/** With the label that replaces it on nodes. */
const labels: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region': 'topology.kubernetes.io/region',
};

/** Several zones are written as `a__b`; an empty one makes the label nobody's. */
function placesOf({ metadata }: PersistentVolume): Place[] {
  return Object.keys(labels).flatMap((label) => {
    const values = metadata.labels?.[label]?.split('__');
    return values === undefined || values.includes('') ? [] : [{ label, values }];
  });
}

/** Where the volumes of the pod are, or why that is not known. */
function placesOfPod({ metadata, spec }: Pod, view: StorageView): Place[] | string {
  const places: Place[] = [];
  for (const { persistentVolumeClaim: named } of spec.volumes ?? []) {
    if (named === undefined) continue;
    if (named.claimName === '') return 'PersistentVolumeClaim had no name';
    const claim = view.claim(named.claimName, metadata.namespace ?? '');
    if (claim === undefined) return `persistentvolumeclaim ${JSON.stringify(named.claimName)} not found`;
    const name = claim.spec?.volumeName ?? '';
    if (name !== '') {
      const volume = view.volume(name);
      if (volume === undefined) return `persistentvolume ${JSON.stringify(name)} not found`;
      places.push(...placesOf(volume));
      continue;
    }
    const className = classOf(claim);
    if (className === '') return 'PersistentVolumeClaim had no pv name and storageClass name';
    const storageClass = view.storageClass(className);
    if (storageClass === undefined)
      return `storageclass.storage.k8s.io ${JSON.stringify(className)} not found`;
    const { volumeBindingMode: mode } = storageClass;
    if (mode === undefined) return `VolumeBindingMode not set for StorageClass ${JSON.stringify(className)}`;
    if (mode !== 'WaitForFirstConsumer') return 'PersistentVolume had no name';
  }
  return places;
}

export const volumeZone = (view: StorageView): Plugin => ({
  name: 'VolumeZone',
  requeueOn: [
    'NodeAdd',
    'NodeUpdateNodeLabel',
    ofOwnClaim,
    {
      on: ['storage.k8s.io/StorageClassAdd'],
      helps: (_pod, { storageClass }) => storageClass?.volumeBindingMode === 'WaitForFirstConsumer',
    },
    {
      on: ['PersistentVolumeAdd', 'PersistentVolumeUpdate'],
      helps: (_pod, { oldVolume, volume }) =>
        oldVolume === undefined ||
        volume === undefined ||
        !semanticEqual(placesOf(oldVolume), placesOf(volume)),
    },
  ],
  preFilter: (state, pod) => {
    const places = placesOfPod(pod, view);
    if (typeof places === 'string') return { status: unresolvable(places) };
    if (places.length === 0) return { status: skip };
    state.write(key, places);
    return undefined;
  },
  filter: (state, _pod, { node }) => {
    const own = node.metadata.labels ?? {};
    // In a cluster of one zone nodes need no labels.
    if (!Object.keys(labels).some((label) => own[label] !== undefined)) return undefined;
    for (const { label, values } of state.read(key) ?? []) {
      const value = own[label] ?? own[labels[label] ?? ''];
      if (value === undefined || !values.includes(value))
        return unresolvable('node(s) had no available volume zone');
    }
    return undefined;
  },
});
