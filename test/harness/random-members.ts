// Random members of the kinds' own types: what a client could have written, whether it makes sense or not.
import type { Json, JsonObject } from '../../src/apimachinery/declaration.ts';
import type { PlanNode, StructPlan } from '../../src/apimachinery/plan.ts';
import type { SeededRandom } from './seeded-random.ts';

const texts = ['', 'a', 'x-1', 'Always', 'example.org/a', 'ä€𝄞', 'a b', '10.0.0.1', '80%', '/a/b', 'A_B'];
const numbers = [0, 1, -1, 7, 80, 65_536, 2_147_483_647];
const times = ['2026-01-02T03:04:05Z', '1970-01-01T00:00:00Z'];
const quantities = ['0', '1', '100m', '1.5Gi', '1e3', '0.5', '2000Ki'];
const deepest = 5;

export class RandomMembers {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  value(node: PlanNode, depth = 0): Json | undefined {
    const { pick, below } = this.#random;
    switch (node.kind) {
      case 'scalar':
        if (node.enum && below(4) > 0) return pick(node.enum);
        if (node.scalar === 'string') return pick(texts);
        if (node.scalar === 'bool') return below(2) === 0;
        return node.scalar === 'float64' ? pick([0, 1.5, -2]) : pick(numbers);
      case 'bytes':
        return pick(['', 'AAEC/w==', 'YQ==']);
      case 'special':
        return this.#special(node);
      case 'array': {
        const items = this.#several(() => this.value(node.items, depth + 1));
        return items.length === 0 ? undefined : items;
      }
      case 'map': {
        const values = this.#several(() => this.value(node.values, depth + 1));
        return values.length === 0
          ? undefined
          : Object.fromEntries(values.map((one, i) => [`k${i}`, one] as const));
      }
      case 'struct':
        return depth > deepest ? undefined : this.struct(node, depth);
      default:
        return undefined;
    }
  }

  /** What is required, and some of the rest. */
  struct(node: StructPlan, depth = 0): JsonObject {
    const { below } = this.#random;
    const object: JsonObject = {};
    for (const field of node.fields.values()) {
      if (field.name === 'metadata' || field.name === 'apiVersion' || field.name === 'kind') continue;
      if (!field.required && below(depth + 3) > 0) continue;
      const value = this.value(field.node, depth + 1);
      if (value !== undefined) object[field.name] = value;
    }
    return object;
  }

  /** Sets random members somewhere in an object that was sensible before. */
  addTo(node: PlanNode, value: Json | undefined): void {
    const { pick, below } = this.#random;
    if (node.kind === 'array' && Array.isArray(value) && value.length > 0) {
      this.addTo(node.items, pick(value));
      return;
    }
    if (node.kind !== 'struct' || typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const fields = [...node.fields.values()].filter(
      ({ name }) => name !== 'metadata' && name !== 'apiVersion' && name !== 'kind',
    );
    const inside = fields.filter(({ name }) => typeof value[name] === 'object' && value[name] !== null);
    if (inside.length > 0 && below(4) > 0) {
      const field = pick(inside);
      this.addTo(field.node, value[field.name]);
      return;
    }
    if (fields.length === 0) return;
    const field = pick(fields);
    const member = this.value(field.node, 2);
    if (member !== undefined) value[field.name] = member;
  }

  /** Never none: protobuf can't tell an empty list from none. */
  #several(one: () => Json | undefined): Json[] {
    return Array.from({ length: 1 + this.#random.below(2) }, one).filter((value) => value !== undefined);
  }

  #special(node: PlanNode & { kind: 'special' }): Json | undefined {
    const { pick } = this.#random;
    if (node.special === 'quantity') return pick(quantities);
    if (node.special === 'time') return pick(times);
    if (node.special === 'duration') return '15.012s';
    if (node.special === 'microTime') return '2026-01-02T03:04:05.000678Z';
    if (node.special === 'intOrString') return pick(['25%', 'http', 1, 0, 80]);
    return undefined;
  }
}
