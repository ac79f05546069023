// Who leads: a table of what is observed, and many candidates with clocks of their own, pauses and lost answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  candidate,
  claimed,
  claimLease,
  type Election,
  givenBack,
  type Leadership,
  leads,
  type Observation,
  observeLease,
  resigned,
  usualTimes,
} from './election.ts';

const at = '2026-01-01T00:00:00.000000Z';
const held = (holder: string, more: Partial<Leadership> = {}): Observation => ({
  leadership: { holder, durationSeconds: 15, transitions: 3, acquireTime: 'then', ...more },
  version: '7',
});
const me = candidate('me');

const cases: readonly (readonly [
  name: string,
  seen: Observation | undefined,
  waitedMs: number,
  wanted: Leadership | undefined,
])[] = [
  [
    'makes a Lease that is not there',
    undefined,
    0,
    { holder: 'me', durationSeconds: 15, transitions: 0, acquireTime: at },
  ],
  ['leaves a Lease that was just renewed', held('other'), 0, undefined],
  ['leaves it until it was observed unchanged for its duration', held('other'), 14_999, undefined],
  [
    'takes it then, and counts the transition',
    held('other'),
    15_000,
    { holder: 'me', durationSeconds: 15, transitions: 4, acquireTime: at },
  ],
  ['believes the duration that the leader wrote', held('other', { durationSeconds: 60 }), 59_999, undefined],
  [
    'takes one that was given back at once',
    held('', { durationSeconds: 1 }),
    0,
    { holder: 'me', durationSeconds: 15, transitions: 4, acquireTime: at },
  ],
  [
    'takes back its own at once, without a transition',
    held('me'),
    0,
    { holder: 'me', durationSeconds: 15, transitions: 3, acquireTime: 'then' },
  ],
];

for (const [name, seen, waitedMs, wanted] of cases)
  test(`a candidate ${name}`, () => {
    const observed = observeLease(observeLease(me, seen, 1_000), seen, 1_000 + waitedMs);
    assert.deepEqual(claimLease(observed, 1_000 + waitedMs, usualTimes, at), wanted);
  });

test('a write of the Lease, whatever time it tells of, begins the wait anew', () => {
  const first = observeLease(me, held('other'), 0);
  const renewed = observeLease(first, { ...held('other'), version: '8' }, 14_000);
  assert.equal(claimLease(renewed, 28_999, usualTimes, at), undefined);
  assert.notEqual(claimLease(renewed, 29_000, usualTimes, at), undefined);
});

test('a leader leads until the deadline after the beginning of its last write, and not after it resigned', () => {
  const leading = claimed(me, held('me'), 5_000);
  assert.ok(leads(leading, 14_999, usualTimes));
  assert.ok(!leads(leading, 15_000, usualTimes));
  assert.ok(!leads(resigned(leading), 5_001, usualTimes));
  assert.deepEqual(givenBack(leading, at), {
    holder: '',
    durationSeconds: 1,
    transitions: 3,
    acquireTime: at,
  });
  assert.equal(givenBack(observeLease(me, held('other'), 0), at), undefined);
});

/** Numbers from 0 to 1, the same ones for a seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** The Lease in a store that many reach: a write counts when nobody wrote since what it replaces. */
class Store {
  lease: Observation | undefined;
  #writes = 0;
  write(leadership: Leadership, replaces: string | undefined): Observation | undefined {
    if (this.lease?.version !== replaces) return undefined;
    this.lease = { leadership, version: String(++this.#writes) };
    return this.lease;
  }
}

/** One that is paused anywhere: before it reads, between read and write, before it hears of its own write. */
class Node {
  readonly identity: string;
  readonly #store: Store;
  readonly #random: () => number;
  readonly #offset: number;
  readonly #rate: number;
  state: Election;
  /** Its next step, and when that is. */
  step: () => number;
  nextMs: number;

  constructor(identity: string, store: Store, random: () => number) {
    this.identity = identity;
    this.#store = store;
    this.#random = random;
    this.#offset = random() * 1e9;
    this.#rate = 0.9 + random() * 0.2;
    this.state = candidate(identity);
    this.step = () => this.#read();
    this.nextMs = random() * 2_000;
  }

  clock(realMs: number): number {
    return this.#offset + realMs * this.#rate;
  }
  #now(): number {
    return this.clock(this.nextMs);
  }
  /** Mostly moments, now and then long enough for others to take over. */
  #pause(): number {
    return this.#random() < 0.05 ? this.#random() * 40_000 : this.#random() * 200;
  }
  #rest(): number {
    this.step = () => this.#read();
    return this.#pause() + 2_000 * (1 + this.#random());
  }

  #read(): number {
    // It ends, and another begins by the same name: it holds what the first one had locked.
    if (this.#random() < 0.01) this.state = candidate(this.identity);
    const seen = this.#store.lease;
    this.step = () => {
      this.state = observeLease(this.state, seen, this.#now());
      return this.#decide();
    };
    return this.#pause();
  }

  #decide(): number {
    const beganMs = this.#now();
    const isGivingBack = this.#random() < 0.02;
    if (isGivingBack) this.state = resigned(this.state);
    const wanted = isGivingBack ? givenBack(this.state, at) : claimLease(this.state, beganMs, usualTimes, at);
    if (wanted === undefined) return this.#rest();
    const replaces = this.state.observed?.version;
    this.step = () => {
      const stored = this.#store.write(wanted, replaces);
      const isLost = this.#random() < 0.1;
      this.step = () => {
        if (stored !== undefined && !isLost && !isGivingBack)
          this.state = claimed(this.state, stored, beganMs);
        return this.#rest();
      };
      return this.#pause();
    };
    return this.#pause();
  }
}

test('never do two lead at once, whatever their clocks say and however long they pause', () => {
  let terms = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed);
    const store = new Store();
    const nodes = ['a', 'b', 'c'].map((name) => new Node(name, store, random));
    let last = '';
    for (let steps = 0; steps < 2_000; steps++) {
      const next = nodes.reduce((a, b) => (a.nextMs <= b.nextMs ? a : b));
      const realMs = next.nextMs;
      next.nextMs += next.step();
      const leading = nodes.filter((node) => leads(node.state, node.clock(realMs), usualTimes));
      assert.ok(leading.length <= 1, `seed ${seed}, step ${steps}: ${leading.map((n) => n.identity)} lead`);
      const [leader] = leading;
      if (leader !== undefined && leader.identity !== last) {
        terms++;
        last = leader.identity;
      }
    }
  }
  // They do lead, one after the other.
  assert.ok(terms > 1_000, `${terms} terms`);
});
