// Which lists of ports are the same. Lists are of objects that nobody changes, and thousands of ports long: each is read once.
import { rememberedFor } from '../../base/remembered-for.ts';
import { canonicalJson } from '../workload/template-hash.ts';

/** In their order. */
export const portListKey: (ports: readonly object[]) => string = rememberedFor(canonicalJson);

/** In any order. */
export const portSetKey: (ports: readonly object[]) => string = rememberedFor((ports: readonly object[]) =>
  canonicalJson(ports.map((port) => canonicalJson(port)).sort()),
);
