// The name that a cluster's supervisor holds while it lives: a socket without a file, so that nothing is left of it.
import { realpathSync } from 'node:fs';
import { contentKey } from '../../component-base/content-hash.ts';

export const supervisorLock = (root: string): string =>
  `\0porthole-supervisor-${contentKey([realpathSync(root)])}`;
