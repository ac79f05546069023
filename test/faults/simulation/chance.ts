// Chance out of a seed: what a process does at random, and what is done to it, is the same for the same seed.
import type { Random } from '../../../src/base/random.ts';
import { type SeededRandom, seededRandom } from '../../harness/seeded-random.ts';

/** FNV-1a: each part of a simulation draws numbers of its own, so that one that draws more changes no other. */
function seedOf(seed: number, name: string): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

export const chanceOf = (seed: number, name: string): SeededRandom => seededRandom(seedOf(seed, name));

export function randomOf(seed: number, name: string): Random {
  const chance = chanceOf(seed, name);
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => chance.below(16).toString(16)).join('');
  return {
    uint: (below) => chance.below(below),
    fraction: () => chance.random(),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
