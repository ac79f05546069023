// Electors on two real servers over one store: one leads, gives the lease back, loses it, and leads again.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { leases } from '../../src/api/generated/resources.ts';
import { aborted } from '../../src/base/until-aborted.ts';
import type { Client } from '../../src/client/client.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { LeaderElector, type Term } from '../../src/controller-runtime/leader-election/elector.ts';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import { LaggingStorage } from '../../src/storage/testing/lagging-storage.ts';
import { readExposition, sampleOf } from '../harness/exposition.ts';

const times = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 50 };
const lease = { namespace: 'kube-system', name: 'kube-scheduler' };
const scheduler = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

/** Resolves with each term in turn, and says when it is over. */
class Candidate {
  readonly #terms: Term[] = [];
  readonly #waiting: ((term: Term) => void)[] = [];
  readonly #ending = new AbortController();
  readonly ended: Promise<void>;
  readonly metrics: MetricsRegistry = createMetrics();
  standbys = 0;
  isBroken = false;
  /** A term that is over ends when this does. */
  holds: Promise<void> = Promise.resolve();

  constructor(t: TestContext, identity: string, real: Client) {
    t.after(() => this.end());
    const refused = (): Promise<never> => Promise.reject(new Error('the store is away'));
    const client: Client = {
      ...real,
      get: (...args) => (this.isBroken ? refused() : real.get(...args)),
      create: (...args) => (this.isBroken ? refused() : real.create(...args)),
      update: (...args) => (this.isBroken ? refused() : real.update(...args)),
    };
    const elector = new LeaderElector({
      client,
      lease,
      identity,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      metrics: this.metrics,
      times,
      lead: (term) => this.#lead(term),
      onStandby: () => this.standbys++,
    });
    this.ended = elector.run(this.#ending.signal);
  }

  async #lead(term: Term): Promise<void> {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#terms.push(term);
    else waiting(term);
    await over(term);
    await this.holds;
  }
  nextTerm(): Promise<Term> {
    const term = this.#terms.shift();
    return term === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(term);
  }
  /** What it says of itself: whether it leads, and how often it had to look again. */
  async told(): Promise<[status: number | undefined, slowPath: number | undefined]> {
    const families = readExposition((await this.metrics.text()).text);
    const { name } = lease;
    return [
      sampleOf(families, 'leader_election_master_status', { name }),
      sampleOf(families, 'leader_election_slowpath_total', { name }),
    ];
  }
  async end(): Promise<void> {
    this.#ending.abort();
    await this.ended;
  }
}

const over = ({ signal }: Term): Promise<void> => aborted(signal);

async function twoClients(t: TestContext): Promise<[Client, Client]> {
  const store = new MemoryStorage(systemClock);
  const first = await startTestControlPlane({ storage: new LaggingStorage(store) });
  const second = await startTestControlPlane({ storage: new LaggingStorage(store), pki: first.pki });
  t.after(async () => {
    await second.close();
    await first.close();
  });
  // Under upstream's roles: what the components may.
  return [first.controlPlane.clientFor(scheduler), second.controlPlane.clientFor(scheduler)];
}

test('one leads; when it ends it gives the lease back, and the other leads at once', async (t) => {
  const [one, two] = await twoClients(t);
  const a = new Candidate(t, 'a', one);
  const first = await a.nextTerm();
  first.check();
  const b = new Candidate(t, 'b', two);
  const made = await two.get(leases, lease);
  assert.deepEqual(
    [made.spec?.holderIdentity, made.spec?.leaseDurationSeconds, made.spec?.leaseTransitions],
    ['a', 3, 0],
  );
  assert.match(made.spec?.renewTime ?? '', /^\d{4}-.*\.\d{6}Z$/);
  while (b.standbys === 0) await new Promise(setImmediate);
  assert.deepEqual(
    [await a.told(), await b.told()],
    [
      [1, 0],
      [0, 0],
    ],
  );
  await a.end();
  assert.ok(first.signal.aborted);
  const second = await b.nextTerm();
  second.check();
  assert.deepEqual([(await a.told())[0], (await b.told())[0]], [undefined, 1]);
  assert.throws(() => first.check(), /a does not lead kube-scheduler any more/);
  const taken = await one.get(leases, lease);
  assert.deepEqual([taken.spec?.holderIdentity, taken.spec?.leaseTransitions], ['b', 1]);
  await b.end();
  const given = await one.get(leases, lease);
  assert.deepEqual(
    [given.spec?.holderIdentity, given.spec?.leaseDurationSeconds, given.spec?.leaseTransitions],
    ['', 1, 1],
  );
});

test('who can not renew leads no more before another does, and stands by from then on', async (t) => {
  const [one, two] = await twoClients(t);
  const a = new Candidate(t, 'a', one);
  const first = await a.nextTerm();
  const b = new Candidate(t, 'b', two);
  a.isBroken = true;
  const second = await b.nextTerm();
  assert.ok(first.signal.aborted);
  assert.throws(() => first.check());
  assert.ok(((await a.told())[1] ?? 0) > 0, 'it looked who has the lease while it led');
  a.isBroken = false;
  second.check();
  b.isBroken = true;
  await over(second);
  b.isBroken = false;
  // Either of them, once the lease has ended.
  const next = await Promise.race([a.nextTerm(), b.nextTerm()]);
  next.check();
  await Promise.all([a.end(), b.end()]);
});

test('what is left of a lost term may write nothing, though its process holds the lease again', async (t) => {
  const [one] = await twoClients(t);
  const held = Promise.withResolvers<void>();
  const a = new Candidate(t, 'a', one);
  a.holds = held.promise;
  const first = await a.nextTerm();
  a.isBroken = true;
  await over(first);
  a.isBroken = false;
  const versionOf = async () => (await one.get(leases, lease)).metadata.resourceVersion;
  const before = await versionOf();
  while ((await versionOf()) === before) await new Promise(setImmediate);
  // By the end of these reads the elector has heard of its write.
  for (let reads = 0; reads < 20; reads++) {
    await versionOf();
    assert.throws(() => first.check(), /a does not lead kube-scheduler any more/);
  }
  held.resolve();
  const second = await a.nextTerm();
  second.check();
  assert.throws(() => first.check());
  await a.end();
});

test('who can not read the lease does not stand by: nobody is known to lead', async (t) => {
  const [one, two] = await twoClients(t);
  const a = new Candidate(t, 'a', one);
  await a.nextTerm();
  const warnings: string[] = [];
  let asks = 0;
  const refusing: Client = {
    ...two,
    get: (...args) => (++asks <= 3 ? Promise.reject(new Error('the store is away')) : two.get(...args)),
  };
  const ending = new AbortController();
  const stoodBy = Promise.withResolvers<number>();
  const b = new LeaderElector({
    client: refusing,
    lease,
    identity: 'b',
    clock: systemClock,
    random: systemRandom,
    log: { ...silentLogger, warn: (_fields, message) => warnings.push(message) },
    metrics: createMetrics(),
    times,
    lead: over,
    onStandby: () => stoodBy.resolve(asks),
  }).run(ending.signal);
  assert.equal(await stoodBy.promise, 4);
  assert.deepEqual(warnings, ['the lease could not be read or written'], 'once, not with each try');
  ending.abort();
  await Promise.all([b, a.end()]);
});

test('the same identity takes back at once what its process left when it was killed', async (t) => {
  const [one, two] = await twoClients(t);
  const now = new Date().toISOString().replace('Z', '000Z');
  const spec = {
    holderIdentity: 'a',
    leaseDurationSeconds: 3_600,
    leaseTransitions: 4,
    acquireTime: now,
    renewTime: now,
  };
  await one.create(leases, { metadata: { ...lease }, spec });
  const b = new Candidate(t, 'b', two);
  while (b.standbys === 0) await new Promise(setImmediate);
  const a = new Candidate(t, 'a', one);
  (await a.nextTerm()).check();
  assert.equal((await two.get(leases, lease)).spec?.leaseTransitions, 4);
  await Promise.all([a.end(), b.end()]);
});

test('what fails while it leads ends the election, and the lease is given back', async (t) => {
  const [one] = await twoClients(t);
  const elector = new LeaderElector({
    client: one,
    lease,
    identity: 'a',
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    metrics: createMetrics(),
    times,
    lead: () => Promise.reject(new Error('no informers')),
  });
  await assert.rejects(elector.run(new AbortController().signal), /no informers/);
  assert.equal((await one.get(leases, lease)).spec?.holderIdentity, '');
});

test('a write that finds the term over ends it, before any timer tells: what fails by it is no failure of the part', async (t) => {
  const [client] = await twoClients(t);
  let stoodStillMs = 0;
  const ending = new AbortController();
  t.after(() => ending.abort());
  const again = Promise.withResolvers<void>();
  let terms = 0;
  const elector = new LeaderElector({
    client,
    lease,
    identity: 'a',
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + stoodStillMs },
    random: systemRandom,
    log: silentLogger,
    metrics: createMetrics(),
    times,
    lead: async ({ check, signal }) => {
      if (++terms > 1) {
        again.resolve();
        return aborted(signal);
      }
      stoodStillMs = 2 * times.renewDeadlineMs;
      // As a part does with what fails while it starts: that its term is over is no reason to end the server.
      try {
        check();
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  });
  const ended = elector.run(ending.signal);
  await Promise.race([again.promise, ended]);
  assert.equal(terms, 2);
  ending.abort();
  await ended;
});
