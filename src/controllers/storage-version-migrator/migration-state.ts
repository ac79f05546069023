// How far a StorageVersionMigration is, and which one of a resource is next; pure.
import type { Condition, GroupResource } from '../../api/generated/types/meta-v1.ts';
import type {
  StorageVersionMigration,
  StorageVersionMigrationStatus,
} from '../../api/generated/types/storagemigration-v1beta1.ts';
import { findCondition, withCondition } from '../../apimachinery/conditions.ts';
import { compareResourceVersions } from '../../apimachinery/resource-version.ts';

type Outcome = 'Succeeded' | 'Failed';

const isTrue = ({ status }: StorageVersionMigration, type: string): boolean =>
  findCondition(status?.conditions, type)?.status === 'True';

export const isRunning = (migration: StorageVersionMigration): boolean => isTrue(migration, 'Running');
export const hasSucceeded = (migration: StorageVersionMigration): boolean => isTrue(migration, 'Succeeded');
export const isOver = (migration: StorageVersionMigration): boolean =>
  hasSucceeded(migration) || isTrue(migration, 'Failed');

export const isOfResource = (
  migration: StorageVersionMigration,
  { group, resource }: GroupResource,
): boolean => migration.spec.resource.group === group && migration.spec.resource.resource === resource;

const isBefore = (a: StorageVersionMigration, b: StorageVersionMigration): boolean => {
  const [x = '', y = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  return x === y ? a.metadata.name < b.metadata.name : x < y;
};

/** Of all migrations of one resource one runs at a time, the oldest first; undefined while one does, or is put in order. */
export function nextOf(
  migrations: readonly StorageVersionMigration[],
  of: GroupResource,
): StorageVersionMigration | undefined {
  const all = migrations.filter((one) => isOfResource(one, of));
  if (all.some(isRunning)) return undefined;
  return all
    .filter((one) => !isOver(one))
    .reduce<StorageVersionMigration | undefined>(
      (first, one) => (first === undefined || isBefore(one, first) ? one : first),
      undefined,
    );
}

const withStatus = (
  migration: StorageVersionMigration,
  change: (status: StorageVersionMigrationStatus) => StorageVersionMigrationStatus,
): StorageVersionMigration => ({ ...migration, status: change(migration.status ?? {}) });

const said = (
  migration: StorageVersionMigration,
  condition: Omit<Condition, 'lastTransitionTime'>,
  now: string,
): StorageVersionMigration =>
  withStatus(migration, (status) => ({
    ...status,
    conditions: withCondition(status.conditions, { ...condition, lastTransitionTime: now }),
  }));

export const begun = (migration: StorageVersionMigration, resourceVersion: string): StorageVersionMigration =>
  withStatus(migration, (status) => ({ ...status, resourceVersion }));

export const running = (migration: StorageVersionMigration, now: string): StorageVersionMigration =>
  said(
    migration,
    {
      type: 'Running',
      status: 'True',
      reason: 'MigrationRunning',
      message: 'The migration is running',
    },
    now,
  );

/** What a condition may say at most, in bytes. */
const maxMessage = 32 * 1024;

/** A server's error repeats what a webhook said, and that may be a book. */
function bounded(message: string): string {
  const bytes = new TextEncoder().encode(message.slice(0, maxMessage));
  if (bytes.length <= maxMessage && message.length <= maxMessage) return message;
  return `${new TextDecoder().decode(bytes.subarray(0, maxMessage - 8))}…`;
}

/** It still runs: what else has to be put in order comes before it does not. */
export const over = (
  migration: StorageVersionMigration,
  outcome: Outcome,
  message: string,
  now: string,
): StorageVersionMigration =>
  said(
    migration,
    { type: outcome, status: 'True', reason: `StorageVersionMigration${outcome}`, message: bounded(message) },
    now,
  );

export const completed = (migration: StorageVersionMigration, now: string): StorageVersionMigration =>
  said(
    migration,
    {
      type: 'Running',
      status: 'False',
      reason: 'MigrationCompleted',
      message: 'Migration completed',
    },
    now,
  );

/** What was written after the migration began lies as it should. */
export const needsMigration = (resourceVersion: string, since: string): boolean =>
  compareResourceVersions(resourceVersion, since) <= 0;
