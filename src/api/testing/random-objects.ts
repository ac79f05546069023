// Objects of any type of the schema, made at random and repeatably; some of their values are of another type.
import type { FieldSchema, Json, JsonObject } from '../../apimachinery/json.ts';
import { schemaSource } from '../schema-source.ts';

const words = [
  ...['', 'a', 'web', 'Bad_Name', 'kubernetes.io/x', 'example.com/y', '/abs', '../up', 'x'.repeat(70), '80'],
  ...['10.0.0.1', 'fd00::1', '10.0.0.0/24', 'windows', 'linux', 'cpu', 'memory', 'hugepages-2Mi', 'app'],
];
const numbers = [0, 1, -1, 30, 443, 70_000, 2_147_483_647];
/** Of types that are written as one value. */
const written: Readonly<Record<string, readonly Json[]>> = {
  Quantity: ['1', '100m', '-1', '1Gi', 1],
  Time: ['2026-01-01T00:00:00Z'],
  MicroTime: ['2026-01-01T00:00:00.000001Z'],
  IntOrString: [0, 80, '25%', 'http'],
};
const others: readonly Json[] = ['text', 7, true, [], {}, null, [null], [[]], { a: {} }, 1.5];
const maxDepth = 8;

export class RandomObjects {
  #seed: number;
  /** How many values of a hundred are of another type. */
  readonly #wrong: number;
  constructor(seed: number, wrong = 0) {
    this.#seed = seed;
    this.#wrong = wrong / 100;
  }
  #next(): number {
    this.#seed = (Math.imul(this.#seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return this.#seed / 0x7fffffff;
  }
  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#next() * list.length) % list.length]!;
  }

  /** `type` is a full name. Required fields may be missing. */
  object(type: string, depth = 0): JsonObject {
    const { fields = {}, required = [] } = schemaSource.type(type) ?? {};
    const names = Object.keys(fields);
    const chance = depth === 0 ? 1 : Math.min(0.6, 4 / names.length + 0.05);
    const made: JsonObject = {};
    for (const name of names)
      if (this.#next() < (required.includes(name) ? 0.85 : chance))
        made[name] = this.#value(fields[name]!, depth);
    return made;
  }
  #value(field: FieldSchema, depth: number): Json {
    if (this.#next() < this.#wrong) return structuredClone(this.#pick(others));
    if (field.ref !== undefined) return this.#reference(field.ref, depth);
    if (field.enum !== undefined && this.#next() < 0.8) return this.#pick(field.enum);
    switch (field.type) {
      case 'string':
        return field.format === 'byte' ? 'YQ==' : this.#pick(words);
      case 'integer':
      case 'number':
        return this.#pick(numbers);
      case 'boolean':
        return this.#next() < 0.5;
      case 'array':
        return this.#some(() => this.#value(field.items ?? {}, depth + 1));
      case 'object':
        return Object.fromEntries(
          this.#some(() => [this.#pick(words), this.#value(field.values ?? {}, depth + 1)]),
        );
      default:
        return structuredClone(this.#pick(others));
    }
  }
  #some<T>(make: () => T): T[] {
    return Array.from({ length: Math.floor(this.#next() * 3) }, make);
  }
  #reference(type: string, depth: number): Json {
    if (schemaSource.type(type)?.fields !== undefined)
      return depth < maxDepth ? this.object(type, depth + 1) : {};
    return structuredClone(this.#pick(written[type.slice(type.lastIndexOf('.') + 1)] ?? others));
  }
}
