// The kinds of storage.k8s.io/v1.
import { ensured } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../../generated/types/storage-v1.ts';
import { ageCell, createdCell, nameCell, orUnset } from '../../meta/row-cells.ts';

const defaultClass = 'storageclass.kubernetes.io/is-default-class';

const storageClass: KindBehaviour<StorageClass> = {
  row: (o, now) => {
    const annotations = o.metadata?.annotations ?? {};
    const isDefault =
      annotations[defaultClass] === 'true' ||
      annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true';
    return [
      isDefault ? `${nameCell(o)} (default)` : nameCell(o),
      o.provisioner ?? '',
      (o.reclaimPolicy ?? '') || 'Delete',
      (o.volumeBindingMode ?? '') || '<unset>',
      o.allowVolumeExpansion === true,
      ageCell(o, now),
    ];
  },
  strategy: {
    validateUpdate: (o, old) =>
      (['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const).flatMap((f) =>
        semanticEqual(o[f], old[f]) ? [] : [forbidden(f, `updates to ${f} are forbidden.`)],
      ),
    applyDefaults(o) {
      o.reclaimPolicy ??= 'Delete';
      o.volumeBindingMode ??= 'Immediate';
    },
  },
};

const csiDriver: KindBehaviour<CSIDriver> = {
  hasGeneration: true,
  row: (o, now) => {
    const s = o.spec ?? {};
    const tokens = (s.tokenRequests ?? []).map((t) => t.audience ?? '');
    return [
      nameCell(o),
      s.attachRequired === undefined ? true : s.attachRequired === true,
      s.podInfoOnMount === true,
      s.storageCapacity === true,
      orUnset(tokens.join(',')),
      s.requiresRepublish === true,
      (s.volumeLifecycleModes ?? []).join(',') || '<none>',
      ageCell(o, now),
    ];
  },
  strategy: {
    applyDefaults(o) {
      const s = ensured(o, 'spec');
      s.attachRequired ??= true;
      s.podInfoOnMount ??= false;
      s.storageCapacity ??= false;
      s.requiresRepublish ??= false;
      s.seLinuxMount ??= false;
      s.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
      if (!s.volumeLifecycleModes?.length) s.volumeLifecycleModes = ['Persistent'];
    },
  },
};

const volumeAttachment: KindBehaviour<VolumeAttachment> = {
  row: (o, now) => [
    nameCell(o),
    o.spec?.attacher ?? '',
    o.spec?.source?.persistentVolumeName ?? '',
    o.spec?.nodeName ?? '',
    o.status?.attached === true,
    ageCell(o, now),
  ],
};

export const storageV1: GroupBehaviours<{
  csidrivers: CSIDriver;
  csinodes: CSINode;
  csistoragecapacities: CSIStorageCapacity;
  storageclasses: StorageClass;
  volumeattachments: VolumeAttachment;
  volumeattributesclasses: VolumeAttributesClass;
}> = {
  csidrivers: csiDriver,
  csinodes: { row: (o, now) => [nameCell(o), (o.spec?.drivers ?? []).length, ageCell(o, now)] },
  csistoragecapacities: { row: (o) => [nameCell(o), createdCell(o)] },
  storageclasses: storageClass,
  volumeattachments: volumeAttachment,
  volumeattributesclasses: { row: (o, now) => [nameCell(o), o.driverName ?? '', ageCell(o, now)] },
};
