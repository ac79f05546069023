// Turns of nodes that are not ready.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/generated/types/core-v1.ts';
import { ZoneEvictions } from './zone-evictions.ts';
import { usualEvictionRates } from './zone-state.ts';
import { Zones } from './zones.ts';

const start = 1_000_000;
const second = 1_000;
const never = Number.POSITIVE_INFINITY;
const excluded = { 'node.kubernetes.io/exclude-disruption': '' };

const node = (name: string, ready: string, labels = {}, taints: object[] = []): Node =>
  ({
    metadata: { name, labels },
    spec: { taints },
    status: { conditions: [{ type: 'Ready', status: ready }] },
  }) as unknown as Node;
/** a, b … of one zone; those that are named are silent. */
const zone = (size: number, silent: string, name = ''): Node[] =>
  Array.from('abcdefgh'.slice(0, size), (letter) =>
    node(`${name}${letter}`, silent.includes(letter) ? 'Unknown' : 'True', {
      'topology.kubernetes.io/zone': name,
    }),
  );
const waits = (evictions: ZoneEvictions, nodes: readonly Node[], moment: number): number[] =>
  nodes.map((one) => evictions.waitFor(one, moment));

describe('ZoneEvictions', () => {
  it('let one node go each ten seconds, the first when it was watched for five', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    const nodes = zone(4, 'ab');
    evictions.look(new Zones(nodes), start);
    assert.deepEqual(waits(evictions, nodes, start), [5 * second, 5 * second, never, never]);
    assert.deepEqual(waits(evictions, nodes, start + 5 * second), [0, 10 * second, never, never]);
    // Its turn is the node's until it is ready again: a write that failed costs no other.
    assert.deepEqual(waits(evictions, nodes, start + 6 * second), [0, 9 * second, never, never]);
    assert.deepEqual(waits(evictions, nodes, start + 15 * second), [0, 0, never, never]);
    assert.equal(evictions.waitFor(node('a', 'True'), start + 16 * second), never);
    assert.equal(evictions.waitFor(zone(1, 'a')[0]!, start + 17 * second), 5 * second);
  });
  it('let nobody go where most of a small zone is silent, and go on as slowly when it is not', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    assert.deepEqual(evictions.look(new Zones(zone(4, '')), start), { again: [], total: undefined });
    assert.deepEqual(evictions.look(new Zones(zone(4, 'ab')), start).again, []);
    waits(evictions, zone(4, 'abc'), start);
    assert.deepEqual(evictions.look(new Zones(zone(4, 'abc')), start), {
      again: ['a', 'b', 'c', 'd'],
      total: undefined,
    });
    assert.deepEqual(waits(evictions, zone(4, 'abc'), start + 3600 * second), [never, never, never, never]);
    const later = start + 7200 * second;
    assert.equal(evictions.look(new Zones(zone(4, 'bc')), later).again.length, 4);
    assert.deepEqual(waits(evictions, zone(4, 'bc'), later), [never, 10 * second, 10 * second, never]);
    assert.deepEqual(waits(evictions, zone(4, 'bc'), later + 10 * second), [never, 0, 10 * second, never]);
  });
  it('go by zones: one that fails as a whole is evicted from while another is well', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    const nodes = [...zone(2, 'ab', 'east-'), ...zone(3, 'c', 'west-')];
    evictions.look(new Zones(nodes), start);
    waits(evictions, nodes, start);
    assert.deepEqual(waits(evictions, nodes, start + 5 * second), [0, 10 * second, never, never, 0]);
  });
  it('stop while no node at all is ready, and forget whose turn it was', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    evictions.look(new Zones(zone(2, 'a')), start);
    waits(evictions, zone(2, 'a'), start);
    assert.equal(evictions.waitFor(zone(2, 'a')[0]!, start + 5 * second), 0);
    const all = zone(2, 'ab');
    assert.deepEqual(evictions.look(new Zones(all), start + 6 * second), {
      again: ['a', 'b'],
      total: 'begun',
    });
    assert.deepEqual(evictions.look(new Zones(all), start + 6 * second), { again: [], total: undefined });
    const tainted = node('a', 'Unknown', {}, [
      { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
    ]);
    assert.deepEqual(waits(evictions, [...all, tainted], start + 60 * second), [never, never, never]);
    assert.deepEqual(evictions.look(new Zones(zone(2, 'a')), start + 60 * second), {
      again: ['a', 'b'],
      total: 'ended',
    });
    assert.equal(evictions.waitFor(all[0]!, start + 60 * second), 10 * second);
  });
  it('take no turn for taints that are there: after a restart, and when one becomes the other', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };
    const nodes = [node('a', 'Unknown', {}, [taint]), node('b', 'False'), node('c', 'True')];
    evictions.look(new Zones(nodes), start);
    assert.deepEqual(waits(evictions, nodes, start), [0, 5 * second, never]);
    assert.deepEqual(waits(evictions, nodes, start + 5 * second), [0, 0, never]);
  });
  it('judge no zone by nodes that are excluded', () => {
    const evictions = new ZoneEvictions(usualEvictionRates);
    const nodes = [...zone(4, 'ab'), node('x', 'Unknown', excluded)];
    assert.deepEqual(evictions.look(new Zones(nodes), start), { again: [], total: undefined });
    assert.equal(evictions.look(new Zones([nodes[0]!, node('x', 'True', excluded)]), start).total, 'begun');
  });
});
