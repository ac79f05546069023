// A store on disk beside a model of what it acknowledged: what tests of damage compare.
import assert from 'node:assert/strict';
import { systemRandom } from '../../component-base/system-random.ts';
import type { Batch } from '../sqlite/batch.ts';
import { DurableStore } from '../sqlite/durable-store.ts';
import type { LoadedRow } from '../sqlite/writer-protocol.ts';

export interface StoreState {
  readonly revision: number;
  /** `revision value` of each key, and whether a lease holds it. */
  readonly objects: ReadonlyMap<string, string>;
  /** `revision key` of the history after the floor. */
  readonly history: readonly string[];
}

/** Small seeded randomness, so that a failure replays. */
export function seeded(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 8) / 0x1000000) * below);
  };
}

/** A batch of creates, updates and deletes of few keys, decided against `objects`, which it changes. */
export function randomBatch(
  random: (below: number) => number,
  revision: number,
  objects: Map<string, string>,
): Batch {
  const count = 1 + random(4);
  const keys: string[] = [];
  const values: Buffer[] = [];
  const batch = {
    puts: new Uint8Array(count),
    revisions: new Float64Array(count),
    previous: new Float64Array(count),
    lengths: new Uint32Array(count),
  };
  const remainingMs = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const key = `/registry/core/configmaps/default/c${random(40)}`;
    const at = revision + i + 1;
    const before = objects.get(key);
    const put = before === undefined || random(4) > 0;
    const value = `${at}:${'x'.repeat(random(8) === 0 ? random(20_000) : random(300))}`;
    keys.push(key);
    values.push(Buffer.from(value));
    batch.puts[i] = put ? 1 : 0;
    batch.revisions[i] = at;
    batch.previous[i] = before === undefined ? 0 : Number(before.split(' ', 1)[0]);
    batch.lengths[i] = Buffer.byteLength(value);
    if (put && at % 16 === 0) remainingMs[i] = 60_000 + at;
    if (put)
      objects.set(key, textOf({ revision: at, value: Buffer.from(value), remainingMs: remainingMs[i] }));
    else objects.delete(key);
  }
  const leases = remainingMs.some((ms) => ms > 0) ? { remainingMs, openMs: revision } : undefined;
  return { keys, values: Buffer.concat(values), ...batch, leases };
}

/** What a model holds of a key. How much is left of its lease is another thing after each opening. */
export const textOf = ({ revision, value, remainingMs = 0 }: Omit<LoadedRow, 'key'>): string =>
  `${revision} ${Buffer.from(value).toString()}${remainingMs > 0 ? ' leased' : ''}`;

/** Everything that an opening shows, as the writer thread reads it. */
export function stateOf(store: DurableStore): StoreState {
  const objects = new Map<string, string>();
  for (const row of store.rows()) objects.set(row.key, textOf(row));
  const history = [...store.history(store.floor())].map(({ key, revision }) => `${revision} ${key}`);
  return { revision: store.revision(), objects, history };
}

export function openState(directory: string): StoreState {
  const store = new DurableStore(directory, systemRandom);
  try {
    const state = stateOf(store);
    store.start();
    const damage = store.structuralDamage();
    if (damage !== undefined) throw damage;
    return state;
  } finally {
    store.close();
  }
}

export function assertSameState(found: StoreState, expected: StoreState, message: string): void {
  assert.equal(found.revision, expected.revision, message);
  assert.deepEqual([...found.objects].sort(), [...expected.objects].sort(), message);
  assert.deepEqual(found.history, expected.history, message);
}
