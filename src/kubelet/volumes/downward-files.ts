// The files of a downwardAPI source. Pure.
import type { DownwardAPIVolumeFile } from '../../api/generated/types/core-v1.ts';
import { fieldValue, resourceValue } from '../runtime/field-ref.ts';
import { badPayloadPath, type FileToWrite } from './atomic-writer.ts';
import { fsGroupOf, type VolumeContext, withGroupRead } from './volume-plugin.ts';

export function downwardFiles(
  context: VolumeContext,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
): Map<string, FileToWrite> {
  const files = new Map<string, FileToWrite>();
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    const bad = badPayloadPath(path, context.nodeOs.name === 'windows');
    if (bad) throw new Error(bad);
    const text = fieldRef
      ? fieldValue(context.pod, fieldRef, context.fields)
      : resourceFieldRef
        ? resourceValue(context.pod, resourceFieldRef, resourceFieldRef.containerName ?? '', context.fields)
        : '';
    const fileMode = context.nodeOs.hasFileModes
      ? withGroupRead(mode ?? defaultMode, fsGroupOf(context))
      : 0o644;
    files.set(path, { data: Buffer.from(text), mode: fileMode });
  }
  return files;
}
