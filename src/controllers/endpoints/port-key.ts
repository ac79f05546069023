// Which lists of ports are the same. Lists are of objects that nobody changes, and thousands of ports long: each is read once.
import { canonicalJson } from '../workload/template-hash.ts';

function rememberedFor<T extends object>(make: (list: T) => string): (list: T) => string {
  const made = new WeakMap<T, string>();
  return (list) => {
    const known = made.get(list) ?? make(list);
    made.set(list, known);
    return known;
  };
}

/** In their order. */
export const portListKey: (ports: readonly object[]) => string = rememberedFor(canonicalJson);

/** In any order. */
export const portSetKey: (ports: readonly object[]) => string = rememberedFor((ports: readonly object[]) =>
  canonicalJson(ports.map((port) => canonicalJson(port)).sort()),
);
