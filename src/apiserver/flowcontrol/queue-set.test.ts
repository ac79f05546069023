// Fairness of the queues, as properties over random arrivals: nobody starves, seats are kept to, shares are equal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, integer, property, record } from 'fast-check';
import type { PriorityLevelConfiguration } from '../../api/generated/types/flowcontrol-v1.ts';
import { PriorityLevels } from './priority-levels.ts';
import { dealHand, type Flow, QueueSet, type Ticket } from './queue-set.ts';

const shape = { queues: 64, handSize: 6, queueLengthLimit: 50 };
const queuesOf = (limit: number, given = shape): QueueSet =>
  new QueueSet(given, (width, inUse) => inUse + width <= limit);
const isTicket = (answer: Ticket | string): answer is Ticket => typeof answer !== 'string';

/** Flows that always have `backlog` requests waiting; each request takes its flow's time. Served requests by flow. */
function race(
  set: QueueSet,
  flows: readonly { name: string; width: number; ms: number; backlog: number }[],
  until: number,
) {
  const served = new Map(flows.map(({ name }) => [name, 0]));
  const waiting = new Map(flows.map(({ name }) => [name, 0]));
  const running: { ticket: Ticket; name: string; ends: number }[] = [];
  let now = 0;
  const begin = (ticket: Ticket, name: string): void => {
    running.push({ ticket, name, ends: now + flows.find((f) => f.name === name)!.ms });
  };
  const fill = (): void => {
    for (const { name, width, backlog } of flows)
      while (waiting.get(name)! < backlog) {
        const answer = set.arrive({ name }, width, now);
        if (!isTicket(answer)) break;
        if (answer.started === undefined) waiting.set(name, waiting.get(name)! + 1);
        else begin(answer, name);
      }
  };
  fill();
  while (now < until) {
    running.sort((a, b) => a.ends - b.ends);
    const first = running.shift()!;
    now = Math.max(now, first.ends);
    set.finish(first.ticket, now);
    served.set(first.name, served.get(first.name)! + 1);
    for (const ticket of set.dispatch(now)) {
      waiting.set(ticket.flow.name, waiting.get(ticket.flow.name)! - 1);
      begin(ticket, ticket.flow.name);
    }
    fill();
  }
  return served;
}

test('one who asks for a hundred at a time gets no more than one who asks for eight', () => {
  const served = race(
    queuesOf(4),
    [
      { name: 'greedy', width: 1, ms: 10, backlog: 100 },
      { name: 'modest', width: 1, ms: 10, backlog: 8 },
    ],
    10_000,
  );
  const ratio = served.get('greedy')! / served.get('modest')!;
  assert.ok(ratio > 0.8 && ratio < 1.3, String(ratio));
});

test('whoever comes first of a flow finds a seat, however many seats others ask for', () => {
  const set = queuesOf(16);
  const flood = (flow: string, width: number): number => {
    let begun = 0;
    for (let i = 0; i < 50; i++) {
      const ticket = set.arrive({ name: flow }, width, 0);
      if (isTicket(ticket) && ticket.started !== undefined) begun += width;
    }
    return begun;
  };
  /** What waits of others does not keep a newcomer waiting: it is dispatched at once. */
  const newcomer = (flow: string): boolean => {
    const ticket = set.arrive({ name: flow }, 1, 0) as Ticket;
    set.dispatch(0);
    return ticket.started !== undefined;
  };
  assert.equal(flood('lists', 4), 8);
  for (const flow of ['a', 'b', 'c']) {
    assert.equal(newcomer(flow), true, flow);
    flood(flow, 1);
    set.dispatch(0);
  }
  assert.ok(set.seatsInUse <= 16, `${set.seatsInUse} seats`);
  assert.equal(newcomer('d'), true);
});

test('many flows of one party leave a quarter of the seats; each of them and whoever comes finds one', () => {
  const set = queuesOf(40);
  const arrive = (flow: Flow): boolean => {
    const ticket = set.arrive(flow, 1, 0) as Ticket;
    set.dispatch(0);
    return ticket.started !== undefined;
  };
  let begun = 0;
  // Their hands are few, too: else they would stand in front of others in all queues.
  for (let account = 0; account < 60; account++)
    for (let i = 0; i < 5; i++)
      if (arrive({ name: `account-${account}`, hand: `team-${account % 4}`, party: 'team' })) begun++;
  assert.equal(begun, 30);
  for (let other = 0; other < 10; other++) assert.equal(arrive({ name: `other-${other}` }), true);
  assert.equal(set.seatsInUse, 40);
});

test('who asks for long or wide requests is served fewer of them', () => {
  for (const heavy of [
    { name: 'heavy', width: 1, ms: 100, backlog: 10 },
    { name: 'heavy', width: 4, ms: 25, backlog: 10 },
  ]) {
    const served = race(queuesOf(4), [heavy, { name: 'light', width: 1, ms: 10, backlog: 10 }], 20_000);
    const ratio = served.get('light')! / served.get('heavy')!;
    assert.ok(ratio > 5, `${ratio} at ${JSON.stringify(heavy)}`);
  }
});

test('random arrivals: seats are kept to, nothing is lost, everybody is served in the end', () => {
  const arrival = record({
    flow: integer({ min: 0, max: 5 }),
    width: integer({ min: 1, max: 12 }),
    ms: integer({ min: 1, max: 50 }),
  });
  check(
    property(
      array(arrival, { minLength: 1, maxLength: 150 }),
      integer({ min: 1, max: 10 }),
      (arrivals, limit) => {
        const set = queuesOf(limit, { ...shape, queueLengthLimit: 1_000 });
        const ends: { ticket: Ticket; at: number }[] = [];
        let now = 0;
        let done = 0;
        const inUse = (): number => ends.reduce((sum, { ticket }) => sum + ticket.width, 0);
        const kept = (): void => {
          assert.equal(set.seatsInUse, inUse());
          assert.ok(inUse() <= limit || ends.length === 1, `${inUse()} of ${limit} seats`);
        };
        const lasts = new Map<Ticket, number>();
        const endOne = (): void => {
          ends.sort((a, b) => a.at - b.at);
          const { ticket, at } = ends.shift()!;
          now = Math.max(now, at);
          set.finish(ticket, now);
          done++;
          for (const begun of set.dispatch(now)) ends.push({ ticket: begun, at: now + lasts.get(begun)! });
          kept();
        };
        for (const { flow, width, ms } of arrivals) {
          now++;
          while (ends.some(({ at }) => at <= now)) endOne();
          const ticket = set.arrive({ name: `flow-${flow}` }, width, now);
          assert.ok(isTicket(ticket));
          lasts.set(ticket, ms);
          if (ticket.started !== undefined) ends.push({ ticket, at: now + ms });
          kept();
        }
        while (ends.length > 0) endOne();
        assert.equal(done, arrivals.length);
        assert.equal(set.waiting, 0);
      },
    ),
    { seed: 11, numRuns: 300 },
  );
});

test('a full queue and a level without queues refuse; who gives up leaves its place', () => {
  const set = queuesOf(1, { queues: 1, handSize: 1, queueLengthLimit: 1 });
  const first = set.arrive({ name: 'a' }, 1, 0) as Ticket;
  const second = set.arrive({ name: 'a' }, 1, 0) as Ticket;
  assert.equal(set.arrive({ name: 'a' }, 1, 0), 'queue-full');
  assert.equal(set.abandon(second, 1), true);
  assert.equal(set.abandon(first, 1), false);
  assert.ok(isTicket(set.arrive({ name: 'a' }, 1, 1)));
  assert.equal(queuesOf(1, { queues: 0, handSize: 0, queueLengthLimit: 0 }).waiting, 0);
  const reject = queuesOf(1, { queues: 0, handSize: 0, queueLengthLimit: 0 });
  assert.ok(isTicket(reject.arrive({ name: 'a' }, 1, 0)));
  assert.equal(reject.arrive({ name: 'b' }, 1, 0), 'concurrency-limit');
});

test('a level of no seats runs nothing: it refuses, or lets wait until it has some', () => {
  const reject = queuesOf(0, { queues: 0, handSize: 0, queueLengthLimit: 0 });
  assert.equal(reject.arrive({ name: 'a' }, 1, 0), 'concurrency-limit');
  let limit = 0;
  const held = new QueueSet(shape, (width, inUse) => inUse + width <= limit);
  const ticket = held.arrive({ name: 'a' }, 12, 0) as Ticket;
  assert.equal(ticket.started, undefined);
  assert.deepEqual(held.dispatch(1), []);
  limit = 1;
  assert.deepEqual(held.dispatch(2), [ticket], 'what is wider than all seats runs alone');
});

test('a level of no shares that may not borrow is a jail; one that may has what others leave', () => {
  const level = (name: string, limited: object): PriorityLevelConfiguration => ({
    metadata: { name },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' }, ...limited } },
  });
  const levels = new PriorityLevels(10);
  levels.configure([
    level('jail', { nominalConcurrencyShares: 0, borrowingLimitPercent: 0 }),
    level('poor', { nominalConcurrencyShares: 0 }),
    level('rich', { nominalConcurrencyShares: 100, lendablePercent: 50 }),
  ]);
  const arrive = (name: string): Ticket | string => levels.get(name)!.queues.arrive({ name: 'a' }, 1, 0);
  assert.equal(arrive('jail'), 'concurrency-limit');
  assert.ok(isTicket(arrive('poor')));
  for (let i = 0; i < levels.get('rich')!.nominal; i++) assert.ok(isTicket(arrive('rich')));
  assert.equal(arrive('poor'), 'concurrency-limit');
});

test('a hand has no card twice, and hardly any two flows have the same one', () => {
  const hands = new Set<string>();
  for (let i = 0; i < 1_000; i++) {
    const hand = dealHand(`user-${i}`, 64, 6);
    assert.equal(new Set(hand).size, 6);
    assert.ok(hand.every((card) => card >= 0 && card < 64));
    hands.add([...hand].sort((a, b) => a - b).join());
  }
  assert.ok(hands.size > 995, `${hands.size} hands`);
});

test('hands are dealt anew when there are other queues', () => {
  const set = queuesOf(1_000);
  const queues = (): Set<unknown> => {
    const tickets = Array.from({ length: 100 }, (_, i) => set.arrive({ name: `f${i}` }, 1, 0)).filter(
      isTicket,
    );
    assert.equal(tickets.length, 100);
    const used = new Set(tickets.map(({ queue }) => queue));
    for (const ticket of tickets) set.finish(ticket, 0);
    return used;
  };
  assert.ok(queues().size > 2);
  set.reshape({ ...shape, queues: 2, handSize: 1 });
  assert.equal(queues().size, 2);
});
