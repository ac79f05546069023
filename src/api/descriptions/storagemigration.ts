// What the types of storage migration are for.
export const storagemigration: string = `
StorageVersionMigration: Has every object of one resource written again, so that all lie in the store in the version and under the key that hold now.
  spec: What is migrated.
  status: How far it is.

StorageVersionMigrationSpec: What is migrated. Cannot be changed.
  resource: Group and plural name of the resource. The migrator writes through whichever version the server prefers.

StorageVersionMigrationStatus: How far the migration is.
  conditions: Running while it goes on; Succeeded or Failed, which stays, once it is over.
  resourceVersion: The revision at which it began. What was written later needs no migration. Set once.
`;
