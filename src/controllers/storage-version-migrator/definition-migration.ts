// What a migration says of the definition of its kind: that it runs, and when it is over, in which versions objects lie.
import { customresourcedefinitions } from '../../api/generated/resources.ts';
import type { CustomResourceDefinition } from '../../api/generated/types/apiextensions-v1.ts';
import type { GroupResource } from '../../api/generated/types/meta-v1.ts';
import type { StorageVersionMigration } from '../../api/generated/types/storagemigration-v1beta1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { rfc3339 } from '../../base/clock.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { hasSucceeded } from './migration-state.ts';

type Context = Pick<ControllerContext, 'write' | 'clock'>;

/** Upstream's name of the part that keeps migrations apart: it owns what it says of definitions. */
const fieldManager = 'migration-runner-controller';
const type = 'StorageMigrating';

interface Said {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly storedVersions?: readonly string[];
}

/** Undefined: what is migrated is no custom resource. */
async function definitionOf(
  context: Context,
  { group, resource }: GroupResource,
): Promise<CustomResourceDefinition | undefined> {
  try {
    return await context.write.get(customresourcedefinitions, { name: `${resource}.${group}` });
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** With the revision that was looked at: the generation that is told must be its own. */
async function say(
  context: Context,
  of: GroupResource,
  said: (definition: CustomResourceDefinition) => Said,
): Promise<void> {
  await retryOnConflict(async () => {
    const definition = await definitionOf(context, of);
    if (definition === undefined) return;
    const { generation, name, resourceVersion } = definition.metadata;
    const { storedVersions, ...condition } = said(definition);
    const lastTransitionTime = rfc3339(context.clock.now());
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name, resourceVersion },
      status: {
        conditions: [{ type, ...condition, lastTransitionTime, observedGeneration: generation }],
        ...(storedVersions === undefined ? {} : { storedVersions }),
      },
    };
    await context.write.patch(
      customresourcedefinitions,
      { name },
      { type: 'apply', body, fieldManager, force: true },
      { subresource: 'status', unread: true },
    );
  });
}

export const tellRunning = (context: Context, { metadata, spec }: StorageVersionMigration): Promise<void> =>
  say(context, spec.resource, () => ({
    status: 'True',
    reason: 'MigrationRunning',
    message: `Migration ${metadata.name} is running`,
  }));

/**
 * Versions that nothing lies in any more go, unless the definition has changed since the migration began. Upstream takes
 * them away after a failure too, and then a version can be dropped in which objects lie: here they stay.
 */
export function tellOver(context: Context, migration: StorageVersionMigration): Promise<void> {
  const succeeded = hasSucceeded(migration);
  return say(context, migration.spec.resource, (definition) => {
    const { generation } = definition.metadata;
    const isSame = findCondition(definition.status?.conditions, type)?.observedGeneration === generation;
    const storage = definition.spec.versions.find((version) => version.storage)?.name;
    const rest = isSame
      ? ' and the stored versions have been updated'
      : ' but the stored versions have not been updated due to a generation mismatch';
    return {
      status: 'False',
      reason: succeeded ? 'MigrationSucceeded' : 'MigrationFailed',
      message: succeeded ? `The migration has succeeded${rest}` : 'The migration has failed',
      ...(succeeded && isSame && storage !== undefined ? { storedVersions: [storage] } : {}),
    };
  });
}
