// The kinds of storage.k8s.io/v1.
import { forbidden } from '../../../apimachinery/field-error.ts';
import {
  arr,
  bool,
  ensure,
  obj,
  objs,
  semanticEqual,
  setDefault,
  spec,
  status,
  str,
  strs,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, createdCell, nameCell, orUnset } from '../../meta/row-cells.ts';

const defaultClass = 'storageclass.kubernetes.io/is-default-class';

const storageClass: KindBehaviour = {
  row: (o, now) => {
    const annotations = obj(obj(o['metadata'])['annotations']);
    const isDefault =
      annotations[defaultClass] === 'true' ||
      annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true';
    return [
      isDefault ? `${nameCell(o)} (default)` : nameCell(o),
      str(o['provisioner']),
      str(o['reclaimPolicy']) || 'Delete',
      str(o['volumeBindingMode']) || '<unset>',
      bool(o['allowVolumeExpansion']),
      ageCell(o, now),
    ];
  },
  strategy: {
    validateUpdate: (o, old) =>
      ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'].flatMap((f) =>
        semanticEqual(o[f], old[f]) ? [] : [forbidden(f, `updates to ${f} are forbidden.`)],
      ),
    applyDefaults(o) {
      setDefault(o, 'reclaimPolicy', 'Delete');
      setDefault(o, 'volumeBindingMode', 'Immediate');
    },
  },
};

const csiDriver: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => {
    const s = spec(o);
    const tokens = objs(s['tokenRequests']).map((t) => str(t['audience']));
    return [
      nameCell(o),
      s['attachRequired'] === undefined ? true : bool(s['attachRequired']),
      bool(s['podInfoOnMount']),
      bool(s['storageCapacity']),
      orUnset(tokens.join(',')),
      bool(s['requiresRepublish']),
      strs(s['volumeLifecycleModes']).join(',') || '<none>',
      ageCell(o, now),
    ];
  },
  strategy: {
    applyDefaults(o) {
      const s = ensure(o, 'spec');
      for (const [key, value] of [
        ['attachRequired', true],
        ['podInfoOnMount', false],
        ['storageCapacity', false],
        ['requiresRepublish', false],
        ['seLinuxMount', false],
      ] as const)
        setDefault(s, key, value);
      setDefault(s, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
      if (arr(s['volumeLifecycleModes']).length === 0) s['volumeLifecycleModes'] = ['Persistent'];
    },
  },
};

const volumeAttachment: KindBehaviour = {
  row: (o, now) => [
    nameCell(o),
    str(spec(o)['attacher']),
    str(obj(spec(o)['source'])['persistentVolumeName']),
    str(spec(o)['nodeName']),
    bool(status(o)['attached']),
    ageCell(o, now),
  ],
};

export const storageV1: GroupBehaviours = {
  csidrivers: csiDriver,
  csinodes: { row: (o, now) => [nameCell(o), arr(spec(o)['drivers']).length, ageCell(o, now)] },
  csistoragecapacities: { row: (o) => [nameCell(o), createdCell(o)] },
  storageclasses: storageClass,
  volumeattachments: volumeAttachment,
  volumeattributesclasses: { row: (o, now) => [nameCell(o), str(o['driverName']), ageCell(o, now)] },
};
