// Which files a ConfigMap, a Secret or a projection of them makes. Pure.
import type { KeyToPath } from '../../api/generated/types/core-v1.ts';
import type { FileToWrite } from './atomic-writer.ts';
import { checkFilePath, fileMode, type VolumeContext } from './volume-plugin.ts';

export interface KeysInput {
  readonly data: ReadonlyMap<string, Uint8Array>;
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
}

/** Throws Error when a key is missing or names no file. */
export function filesOfKeys(
  context: Pick<VolumeContext, 'nodeOs' | 'pod'>,
  input: KeysInput,
): Map<string, FileToWrite> {
  const files = new Map<string, FileToWrite>();
  const add = (path: string, data: Uint8Array, mode: number): void => {
    checkFilePath(context, path);
    files.set(path, { data, mode: fileMode(context, mode) });
  };
  const items = input.items ?? [];
  if (items.length === 0) {
    for (const [key, data] of input.data) add(key, data, input.defaultMode);
    return files;
  }
  for (const { key, path, mode } of items) {
    const data = input.data.get(key);
    if (data === undefined) {
      if (input.optional) continue;
      throw new Error(`references non-existent config key: ${key}`);
    }
    add(path, data, mode ?? input.defaultMode);
  }
  return files;
}
