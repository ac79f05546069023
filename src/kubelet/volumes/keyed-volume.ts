// What configMap and secret volumes share: the keys of one object as files, written all at once.
import type { KeyToPath } from '../../api/generated/types/core-v1.ts';
import { writeAtomically } from './atomic-writer.ts';
import { filesOfKeys } from './key-to-path.ts';
import { fsGroupOf, ownFolder, type VolumeContext, type VolumeLocation } from './volume-plugin.ts';

export interface KeyedSource {
  /** For the error: `configmap "name" not found`. */
  readonly what: string;
  /** undefined: the object is not there. */
  readonly data: ReadonlyMap<string, Uint8Array> | undefined;
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number | undefined;
  readonly optional: boolean;
}

/** `prepare` readies the folder once it is known that there is something to write. */
export async function writeKeys(
  context: VolumeContext,
  source: KeyedSource,
  prepare?: () => Promise<void>,
): Promise<VolumeLocation> {
  const { what, data, items, defaultMode, optional } = source;
  if (!data && !optional) throw new Error(`${what} not found`);
  const payload = filesOfKeys(context, {
    data: data ?? new Map(),
    items: data ? items : undefined,
    defaultMode: defaultMode ?? 0o644,
    optional,
  });
  await prepare?.();
  await writeAtomically(context, context.dir, payload, fsGroupOf(context));
  return ownFolder(context.dir);
}
