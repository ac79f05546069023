// Keeps a class of volume attributes that is to be deleted until no volume and no claim names it.
import {
  persistentvolumeclaims,
  persistentvolumes,
  volumeattributesclasses,
} from '../api/generated/resources.ts';
import type { PersistentVolumeClaim } from '../api/generated/types/core-v1.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  defineController,
  index,
  watching,
} from '../controller-runtime/define-controller.ts';
import { finalizersDue, writeFinalizers } from './storage/protect.ts';

const finalizer = 'kubernetes.io/vac-protection';
const byClass = 'volumeAttributesClass';

const named = (...names: readonly (string | undefined)[]): string[] =>
  names.filter((name) => name !== undefined && name !== '') as string[];

/** The one that it asks for, the one that it has, and the one that it is being changed to. */
const classesOf = ({ spec, status }: PersistentVolumeClaim): string[] =>
  named(
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  );

export const volumeAttributesClassProtectionController: Controller = defineController({
  name: 'volumeattributesclass-protection-controller',
  queue: 'vacprotection',
  serviceAccount: 'volumeattributesclass-protection-controller',
  for: volumeattributesclasses,
  access: [may('update', volumeattributesclasses)],
  indexes: [
    index(persistentvolumes, byClass, ({ spec }) => named(spec?.volumeAttributesClassName)),
    index(persistentvolumeclaims, byClass, classesOf),
  ],
  watches: [
    watching(persistentvolumes, ({ spec }, { old }) =>
      named(spec?.volumeAttributesClassName, old?.spec?.volumeAttributesClassName),
    ),
    watching(persistentvolumeclaims, (claim, { old }) => [
      ...classesOf(claim),
      ...(old === undefined ? [] : classesOf(old)),
    ]),
  ],
  async reconcile({ name }, context) {
    const known = context.read(volumeattributesclasses).get(name);
    if (known === undefined) return undefined;
    const inUse =
      context.read(persistentvolumes).byIndex(byClass, name).length > 0 ||
      context.read(persistentvolumeclaims).byIndex(byClass, name).length > 0;
    const due = finalizersDue(known, finalizer, inUse);
    if (due !== undefined) await writeFinalizers(context, volumeattributesclasses, known, due);
    return undefined;
  },
});
