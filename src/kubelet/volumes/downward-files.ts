// The files of a downwardAPI source. Pure.
import type { DownwardAPIVolumeFile } from '../../api/generated/types/core-v1.ts';
import { fieldValue, resourceValue } from '../runtime/field-ref.ts';
import type { FileToWrite } from './atomic-writer.ts';
import { checkFilePath, fileMode, type VolumeContext } from './volume-plugin.ts';

export function downwardFiles(
  context: VolumeContext,
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
): Map<string, FileToWrite> {
  const files = new Map<string, FileToWrite>();
  for (const { path, mode, fieldRef, resourceFieldRef } of items) {
    checkFilePath(context, path);
    const text = fieldRef
      ? fieldValue(context.pod, fieldRef, context.fields)
      : resourceFieldRef
        ? resourceValue(context.pod, resourceFieldRef, resourceFieldRef.containerName ?? '', context.fields)
        : '';
    files.set(path, { data: Buffer.from(text), mode: fileMode(context, mode ?? defaultMode) });
  }
  return files;
}
