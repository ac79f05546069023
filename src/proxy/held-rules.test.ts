// Who has a frontend that several want, and what a change of one service changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from '../base/turns.ts';
import { HeldRules } from './held-rules.ts';
import type { Frontend, ServiceRules } from './rule-set.ts';

const frontend = (port: number): Frontend => ({
  ip: '203.0.113.1',
  protocol: 'tcp',
  port,
  source: 'external',
  backends: [],
  insideBackends: [],
  without: 'reject',
  affinitySeconds: 0,
  allowedSources: undefined,
  isClusterIP: false,
  portName: `p${port}/tcp`,
});
const rules = (service: string, ...ports: number[]): ServiceRules => ({
  service,
  frontends: ports.map(frontend),
});
const portsOf = (one: ServiceRules | undefined): number[] | undefined =>
  one?.frontends.map(({ port }) => port);
/** By service: ports before and after. */
const changes = (held: HeldRules) =>
  Object.fromEntries(
    atOnce(held.changes()).map(({ service, before, after }) => [service, [portsOf(before), portsOf(after)]]),
  );

test('a change is told once, of the services that have another frontend by it', () => {
  const held = new HeldRules();
  held.want('d/a', rules('d/a', 1, 2));
  held.want('d/b', rules('d/b', 3));
  assert.deepEqual(changes(held), { 'd/a': [undefined, [1, 2]], 'd/b': [undefined, [3]] });
  assert.deepEqual(changes(held), {});
  held.want('d/a', rules('d/a', 2));
  assert.deepEqual(changes(held), { 'd/a': [[1, 2], [2]] });
  held.want('d/b', undefined);
  held.want('d/none', undefined);
  assert.deepEqual(changes(held), { 'd/b': [[3], undefined] });
  assert.deepEqual([...held.all()].map(portsOf), [[2]]);
});

test('who comes second waits, and has it in the change that frees it', () => {
  const held = new HeldRules();
  held.want('d/first', rules('d/first', 1, 2));
  held.want('d/second', rules('d/second', 2, 3));
  held.want('d/third', rules('d/third', 2));
  assert.deepEqual(changes(held), {
    'd/first': [undefined, [1, 2]],
    'd/second': [undefined, [3]],
  });
  held.want('d/first', rules('d/first', 1));
  assert.deepEqual(changes(held), { 'd/first': [[1, 2], [1]], 'd/second': [[3], [2, 3]] });
  held.want('d/second', undefined);
  assert.deepEqual(changes(held), { 'd/second': [[2, 3], undefined], 'd/third': [undefined, [2]] });
});
