// The kind StorageVersionMigration.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { StorageVersionMigration } from '../../generated/types/storagemigration-v1beta1.ts';
import { nameCell } from '../../meta/row-cells.ts';
import { validateMigration, validateMigrationUpdate } from './validate-migration.ts';

export const storagemigrationV1beta1: GroupBehaviours<{
  storageversionmigrations: StorageVersionMigration;
}> = {
  storageversionmigrations: {
    row: (o) => {
      const { group = '', resource = '' } = o.spec?.resource ?? {};
      return [nameCell(o), group === '' ? resource : `${resource}.${group}`];
    },
    strategy: {
      validate: validateMigration,
      validateUpdate: validateMigrationUpdate,
      keptByStatus: 'all',
      allowUnconditionalUpdate: false,
    },
  },
};
