// Adds a finalizer to what may come to be used, and takes it off what is to go and is not used.
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';

interface Protected {
  readonly metadata: {
    readonly finalizers?: string[] | undefined;
    readonly deletionTimestamp?: string | undefined;
  };
}

/** The finalizers it should have; undefined when it has them. */
export function finalizersDue(object: Protected, finalizer: string, inUse: boolean): string[] | undefined {
  const { finalizers = [], deletionTimestamp } = object.metadata;
  const has = finalizers.includes(finalizer);
  if (deletionTimestamp === undefined) return has ? undefined : [...finalizers, finalizer];
  return has && !inUse ? finalizers.filter((name) => name !== finalizer) : undefined;
}

export async function writeFinalizers<T extends Protected>(
  context: ControllerContext,
  resource: ResourceRef<T>,
  object: T,
  finalizers: string[],
): Promise<void> {
  await context.write.update(resource, { ...object, metadata: { ...object.metadata, finalizers } });
}
