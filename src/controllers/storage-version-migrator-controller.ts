// Has objects written again, so that all lie in the store in the version and under the key that hold now.
import { customresourcedefinitions, storageversionmigrations } from '../api/generated/resources.ts';
import type { StorageVersionMigration } from '../api/generated/types/storagemigration-v1beta1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { resourceVersionError } from '../apimachinery/resource-version.ts';
import { rfc3339 } from '../base/clock.ts';
import { Places } from '../base/turns.ts';
import { type DiscoveredResource, supports } from '../client/discovery.ts';
import { anything, may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  type Result,
  watching,
} from '../controller-runtime/define-controller.ts';
import { IgnorableError } from '../controller-runtime/ignorable-error.ts';
import { tellOver, tellRunning } from './storage-version-migrator/definition-migration.ts';
import { migrateObjects, newestRevision, type Place } from './storage-version-migrator/migrate-objects.ts';
import {
  begun,
  completed,
  isOfResource,
  isOver,
  isRunning,
  nextOf,
  over,
  running,
} from './storage-version-migrator/migration-state.ts';

/** Discovery may be behind a definition that was just made. */
const graceMs = 60_000;
const lookAgainMs = 5_000;
const verbs = ['update', 'patch', 'list'] as const;

const nowOf = (context: ControllerContext): string => rfc3339(context.clock.now());

const write = async (context: ControllerContext, migration: StorageVersionMigration): Promise<undefined> => {
  await context.write.update(storageversionmigrations, migration, { subresource: 'status' });
  return undefined;
};
const fail = (
  context: ControllerContext,
  migration: StorageVersionMigration,
  message: string,
): Promise<undefined> => write(context, over(migration, 'Failed', message, nowOf(context)));

/** In the version that the server prefers. A group that does not answer is waited for. */
async function resourceOf(
  context: ControllerContext,
  { spec }: StorageVersionMigration,
): Promise<DiscoveredResource | undefined> {
  const { failures, resources } = await context.discover();
  const found = resources.find(
    ({ group, resource }) => group === spec.resource.group && resource === spec.resource.resource,
  );
  if (found === undefined && failures.some((text) => text.startsWith(`${spec.resource.group}/`)))
    throw new IgnorableError(failures.join(', '));
  return found;
}

/** Go's GroupVersionResource as text. */
const textOf = ({ group, version, resource }: DiscoveredResource): string =>
  `${group}/${version}, Resource=${resource}`;

const isYoung = (context: ControllerContext, { metadata }: StorageVersionMigration): boolean =>
  Date.parse(metadata.creationTimestamp ?? '') + graceMs > context.clock.now();

/** Notes from which revision on nothing needs to be migrated. */
async function begin(
  context: ControllerContext,
  migration: StorageVersionMigration,
): Promise<Result | undefined> {
  const resource = await resourceOf(context, migration);
  if (resource === undefined) {
    if (isYoung(context, migration)) return { requeueAfterMs: lookAgainMs };
    return fail(context, migration, 'resource does not exist in discovery');
  }
  if (!supports(resource, ...verbs)) {
    const text = JSON.stringify(textOf(resource));
    return fail(
      context,
      migration,
      `resource ${text} does not support discovery operations: [${verbs.join(' ')}]`,
    );
  }
  const newest = await newestRevision(context, resource);
  if (resourceVersionError(newest) !== undefined)
    return fail(context, migration, `latest resourceVersion for ${textOf(resource)} is empty`);
  return write(context, begun(migration, newest));
}

/** As upstream: what may be better another time. Whatever else the server says ends the migration. */
const isPassing = (error: unknown): boolean =>
  !isStatusError(error) ||
  error.code === 429 ||
  ['ServerTimeout', 'TooManyRequests', 'ServiceUnavailable', 'InternalError', 'Timeout'].includes(
    error.reason,
  );

interface Paused {
  readonly uid: string | undefined;
  readonly place: Place;
}

/** Migrations whose turn ended before they did, by name. */
const paused = new WeakMap<ControllerContext, Map<string, Paused>>();

function pausedOf(context: ControllerContext): Map<string, Paused> {
  const known = paused.get(context) ?? new Map<string, Paused>();
  paused.set(context, known);
  return known;
}

/** Answers whether all is done; else the others have their turn first. */
async function migrateInTurns(
  context: ControllerContext,
  resource: DiscoveredResource,
  { metadata: { name, uid }, status }: StorageVersionMigration,
  isThere: () => boolean,
): Promise<boolean> {
  const known = pausedOf(context);
  const before = known.get(name);
  known.delete(name);
  const from = before?.uid === uid ? before?.place : undefined;
  const place = await migrateObjects(context, resource, status?.resourceVersion ?? '', isThere, from);
  if (place !== undefined) known.set(name, { uid, place });
  return place === undefined;
}

async function migrate(
  context: ControllerContext,
  migration: StorageVersionMigration,
): Promise<Result | undefined> {
  const { name, uid } = migration.metadata;
  const unhandled = (what: string): Promise<undefined> =>
    fail(context, migration, `migration encountered unhandled error: ${what}`);
  const resource = await resourceOf(context, migration);
  if (resource === undefined) {
    if (isYoung(context, migration)) return { requeueAfterMs: lookAgainMs };
    return unhandled('unable to obtain GVR from discovery');
  }
  const isThere = (): boolean => context.read(storageversionmigrations).get(name)?.metadata.uid === uid;
  try {
    if (!(await migrateInTurns(context, resource, migration, isThere))) return { requeueAfterMs: 0 };
  } catch (error) {
    if (context.signal.aborted || isPassing(error)) throw error;
    return unhandled((error as Error).message);
  }
  if (!isThere()) return undefined;
  return write(context, over(migration, 'Succeeded', '', nowOf(context)));
}

/** One decision at a time, by what is stored: the informer may not have seen the one before. */
const deciding = new WeakMap<ControllerContext, Places>();

async function runNext(
  context: ControllerContext,
  { metadata, spec }: StorageVersionMigration,
): Promise<void> {
  const places = deciding.get(context) ?? new Places(1);
  deciding.set(context, places);
  const leave = await places.take(context.signal);
  try {
    const { items } = await context.write.list(storageversionmigrations);
    const next = nextOf(items, spec.resource);
    if (next === undefined || next.metadata.uid !== metadata.uid) return;
    await tellRunning(context, next);
    await write(context, running(next, nowOf(context)));
  } finally {
    leave();
  }
}

export const storageVersionMigratorController: Controller = defineController({
  name: 'storage-version-migrator-controller',
  serviceAccount: 'storage-version-migrator-controller',
  for: storageversionmigrations,
  access: [
    // A patch of what is gone would create it, if it did not say which object it means.
    may(['create', 'list', 'patch'], anything),
    may('update', storageversionmigrations, 'status'),
    may('get', customresourcedefinitions),
  ],
  watches: [
    // When one is over or gone the next one's time has come.
    watching(storageversionmigrations, ({ spec }, _, context) =>
      context
        .read(storageversionmigrations)
        .list()
        .filter((one) => isOfResource(one, spec.resource) && !isOver(one))
        .map(({ metadata }) => metadata.name),
    ),
  ],
  async reconcile({ name }, context) {
    const migrations = context.read(storageversionmigrations);
    const migration = migrations.get(name);
    if (migration === undefined) {
      pausedOf(context).delete(name);
      return undefined;
    }
    if (isOver(migration)) {
      if (!isRunning(migration)) return undefined;
      await tellOver(context, migration);
      return write(context, completed(migration, nowOf(context)));
    }
    if (!migration.status?.resourceVersion) return begin(context, migration);
    if (isRunning(migration)) return migrate(context, migration);
    await runNext(context, migration);
    return undefined;
  },
});
