// What a promised node outlives: updates that do not speak of it, but not those that do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { makePod } from '../testing/builders.ts';
import { Nominator } from './nominator.ts';

const named = (pod: Pod, nominatedNodeName?: string): Pod => ({
  ...pod,
  status: nominatedNodeName === undefined ? {} : { nominatedNodeName },
});
const names = (nominator: Nominator, node: string): string[] =>
  nominator.on(node).map(({ pod }) => pod.metadata.name);

test('a promise holds until it is taken back, written otherwise, or its pod is placed', () => {
  const nominator = new Nominator();
  const pod = makePod('p');
  nominator.saw(named(pod));
  assert.deepEqual(names(nominator, 'a'), []);
  nominator.nominate(pod, 'a');
  assert.deepEqual([names(nominator, 'a'), nominator.nodeOf(pod)], [['p'], 'a']);
  assert.equal(nominator.updated(named(pod), named(pod)), false, 'not yet written');
  assert.deepEqual(names(nominator, 'a'), ['p']);
  assert.equal(nominator.updated(named(pod), named(pod, 'a')), false);
  assert.equal(nominator.updated(named(pod, 'a'), named(pod, 'b')), true);
  assert.deepEqual([names(nominator, 'a'), names(nominator, 'b')], [[], ['p']]);
  assert.equal(nominator.updated(named(pod, 'b'), named(pod)), true, 'taken back');
  assert.deepEqual(names(nominator, 'b'), []);
  nominator.nominate(pod, 'a');
  assert.equal(nominator.forget(pod), true);
  assert.equal(nominator.forget(pod), false);
  assert.equal(nominator.nodeOf(pod), '');
});

test('a scheduler that starts knows what was promised before', () => {
  const nominator = new Nominator();
  nominator.saw(named(makePod('p'), 'a'));
  assert.deepEqual(names(nominator, 'a'), ['p']);
});
