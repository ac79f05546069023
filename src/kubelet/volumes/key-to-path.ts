// Which files a ConfigMap, a Secret or a projection of them makes. Pure.
import type { KeyToPath } from '../../api/generated/types/core-v1.ts';
import { badPayloadPath, type FileToWrite } from './atomic-writer.ts';

export interface KeysInput {
  readonly data: ReadonlyMap<string, Uint8Array>;
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
  readonly windows: boolean;
  readonly mode: (mode: number) => number;
}

/** Throws Error when a key is missing or names no file. */
export function filesOfKeys(input: KeysInput): Map<string, FileToWrite> {
  const files = new Map<string, FileToWrite>();
  const add = (path: string, data: Uint8Array, mode: number): void => {
    const bad = badPayloadPath(path, input.windows);
    if (bad) throw new Error(bad);
    files.set(path, { data, mode: input.mode(mode) });
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
