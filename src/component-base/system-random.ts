// Randomness of the operating system.
import { randomInt, randomUUID } from 'node:crypto';
import type { Random } from '../base/random.ts';

export const systemRandom: Random = {
  uint: (below) => randomInt(below),
  fraction: () => Math.random(),
  uuid: () => randomUUID(),
};
