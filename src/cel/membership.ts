// `x in [1, 2, 3]` with a list of constants: a set that is made once. To ask it costs nothing.
import type { Step } from './frame.ts';
import { CelError, CelList, CelMap, mapKey, Uint, type Value } from './value.ts';

type Key = string | bigint | boolean | number;
/** Numbers that are equal have one key. */
const keyOf = (value: Value): Key | undefined =>
  mapKey(value) ?? (typeof value === 'number' ? value : undefined);

const isPlain = (value: Value): boolean =>
  value instanceof Uint || (typeof value !== 'object' && !Number.isNaN(value));

/** False: nothing is in it. undefined: not of plain values, so it is looked through each time. */
export function membershipOf(operand: Step, list: CelList): Step | false | undefined {
  if (list.size === 0) return false;
  const keys = new Set<Key>();
  for (const value of list) {
    if (!isPlain(value)) return undefined;
    keys.add(keyOf(value)!);
  }
  return (frame) => {
    const value = operand(frame);
    if (value instanceof CelError) return value;
    const key = value instanceof CelList || value instanceof CelMap ? undefined : keyOf(value);
    return key !== undefined && keys.has(key);
  };
}
