// The kinds of storage.k8s.io/v1.
import { ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { endedNodeLabel, nodeSelectorWarnings } from '../../core/v1/node-label-warnings.ts';
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../../generated/types/storage-v1.ts';
import { ageCell, createdCell, nameCell, orUnset } from '../../meta/row-cells.ts';
import {
  validateCsiDriver,
  validateCsiDriverUpdate,
  validateCsiNode,
  validateCsiNodeUpdate,
  validateStorageCapacity,
  validateStorageCapacityUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttachment,
  validateVolumeAttachmentStatus,
  validateVolumeAttachmentUpdate,
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from './validate-storage.ts';

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
    validate: validateStorageClass,
    validateUpdate: validateStorageClassUpdate,
    warnings: ({ allowedTopologies = [] }) =>
      allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
        matchLabelExpressions.flatMap(({ key }, j) => {
          const word = endedNodeLabel(key);
          return word === undefined
            ? []
            : [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${word}`];
        }),
      ),
    applyDefaults(o) {
      o.reclaimPolicy ??= 'Delete';
      o.volumeBindingMode ??= 'Immediate';
    },
  },
};

const csiDriver: KindBehaviour<CSIDriver> = {
  hasGeneration: true,
  // Its own rules say it, of a field that upstream calls `name`.
  nameRule: () => [],
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
    allowUnconditionalUpdate: false,
    validate: validateCsiDriver,
    validateUpdate: validateCsiDriverUpdate,
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
  strategy: {
    allowUnconditionalUpdate: false,
    validate: validateVolumeAttachment,
    validateUpdate: (o, old, { subresource }) =>
      subresource === '' ? validateVolumeAttachmentUpdate(o, old) : validateVolumeAttachmentStatus(o),
    keptByStatus: 'all',
  },
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
  csinodes: {
    strategy: {
      allowUnconditionalUpdate: false,
      validate: validateCsiNode,
      validateUpdate: validateCsiNodeUpdate,
    },
    row: (o, now) => [nameCell(o), (o.spec?.drivers ?? []).length, ageCell(o, now)],
  },
  csistoragecapacities: {
    strategy: {
      allowUnconditionalUpdate: false,
      validate: validateStorageCapacity,
      validateUpdate: validateStorageCapacityUpdate,
      warnings: ({ nodeTopology }) => nodeSelectorWarnings(nodeTopology, 'nodeTopology'),
    },
    row: (o) => [nameCell(o), createdCell(o)],
  },
  storageclasses: storageClass,
  volumeattachments: volumeAttachment,
  volumeattributesclasses: {
    strategy: {
      validate: validateVolumeAttributesClass,
      validateUpdate: validateVolumeAttributesClassUpdate,
    },
    row: (o, now) => [nameCell(o), o.driverName ?? '', ageCell(o, now)],
  },
};
