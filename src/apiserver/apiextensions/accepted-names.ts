// Which names the definitions of each group hold, and which definitions were refused one: so that a definition is
// looked at without all the others.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { nameOf, obj, str, strs } from '../../apimachinery/json-access.ts';
import type { TakenNames } from './definition-status.ts';

interface Held {
  readonly group: string;
  readonly resources: readonly string[];
  readonly kinds: readonly string[];
  readonly refused: boolean;
}

const none: Held = { group: '', resources: [], kinds: [], refused: false };

function heldBy(crd: JsonObject): Held {
  const status = obj(crd['status']);
  const names = obj(status['acceptedNames']);
  const conditions = Array.isArray(status['conditions']) ? status['conditions'].map(obj) : [];
  return {
    group: str(obj(crd['spec'])['group']),
    resources: [str(names['plural']), str(names['singular']), ...strs(names['shortNames'])],
    kinds: [str(names['kind']), str(names['listKind'])],
    refused: conditions.some((c) => c['type'] === 'NamesAccepted' && c['status'] === 'False'),
  };
}

/** `resource|group|name` and `kind|group|name`, of any version. */
function keysOf(builtIn: ResourceDeclaration): string[] {
  const { group, resource, singular, shortNames, kind, listKind, subresources, storage } = builtIn;
  return [
    `resource|${storage.group}|${storage.resource}`,
    ...[resource, singular, ...shortNames].map((name) => `resource|${group}|${name}`),
    ...[kind, listKind].map((name) => `kind|${group}|${name}`),
    ...subresources.map((sub) => `kind|${sub.kind.group}|${sub.kind.kind}`),
  ];
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i]);

export class AcceptedNames {
  readonly #held = new Map<string, Held>();
  /** Definitions by `resource|group|name` and `kind|group|name`. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #refused = new Map<string, Set<string>>();
  readonly #builtIn: ReadonlySet<string>;

  constructor(builtIn: readonly ResourceDeclaration[]) {
    this.#builtIn = new Set(builtIn.flatMap(keysOf));
  }

  /** Returns the definitions that may be better off now: those of the group that were refused a name. */
  set(definition: string, crd: JsonObject | undefined): readonly string[] {
    const before = this.#held.get(definition) ?? none;
    const now = crd === undefined ? none : heldBy(crd);
    const freed = !isSame(before.resources, now.resources) || !isSame(before.kinds, now.kinds);
    this.#each(before, (key) => drop(this.#holders, key, definition));
    drop(this.#refused, before.group, definition);
    this.#each(now, (key) => put(this.#holders, key, definition));
    if (now.refused) put(this.#refused, now.group, definition);
    if (crd === undefined) this.#held.delete(definition);
    else this.#held.set(definition, now);
    return freed && before !== none ? [...(this.#refused.get(before.group) ?? [])] : [];
  }

  /** Whether it would share a built-in's objects or their kind, whatever its status says. */
  isBuiltIn(crd: JsonObject): boolean {
    const spec = obj(crd['spec']);
    const { plural, kind } = obj(spec['names']);
    const group = str(spec['group']);
    return (
      this.#builtIn.has(`resource|${group}|${str(plural)}`) || this.#builtIn.has(`kind|${group}|${str(kind)}`)
    );
  }

  /** Names of built-ins, and of other definitions in the group that were accepted before. */
  takenFor(crd: JsonObject): TakenNames {
    const group = str(obj(crd['spec'])['group']);
    const self = nameOf(crd);
    const isTaken = (what: string) => (name: string) => {
      const key = `${what}|${group}|${name}`;
      const holders = this.#holders.get(key);
      if (name !== '' && this.#builtIn.has(key)) return true;
      return holders !== undefined && (holders.size > 1 || !holders.has(self));
    };
    return { resource: isTaken('resource'), kind: isTaken('kind') };
  }

  #each({ group, resources, kinds }: Held, visit: (key: string) => void): void {
    for (const name of resources) if (name !== '') visit(`resource|${group}|${name}`);
    for (const name of kinds) if (name !== '') visit(`kind|${group}|${name}`);
  }
}

function put(sets: Map<string, Set<string>>, key: string, value: string): void {
  const known = sets.get(key);
  if (known === undefined) sets.set(key, new Set([value]));
  else known.add(value);
}

function drop(sets: Map<string, Set<string>>, key: string, value: string): void {
  const known = sets.get(key);
  if (known?.delete(value) && known.size === 0) sets.delete(key);
}
