// States of zones and their rates, as upstream's ComputeZoneState and ReducedQPSFunc.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/generated/types/core-v1.ts';
import {
  countsForZone,
  evictionRate,
  usualEvictionRates as rates,
  zoneKey,
  zoneState,
} from './zone-state.ts';
import { Zones } from './zones.ts';

const node = (ready: string | undefined, labels?: Record<string, string>): Node =>
  ({
    metadata: { name: 'n', ...(labels === undefined ? {} : { labels }) },
    status: { conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready }] },
  }) as unknown as Node;
const stateOf = (ready: number, ...others: (string | undefined)[]): string => {
  const statuses = [...Array<string>(ready).fill('True'), ...others];
  const nodes = statuses.map((status, i) => ({ ...node(status), metadata: { name: `n${i}` } }) as Node);
  const [counted] = new Zones(nodes).all.values();
  return zoneState(counted ?? { ready: 0, notReady: 0 }, 0.55);
};

describe('zoneState', () => {
  it('is full disruption without one ready node', () => {
    assert.equal(stateOf(0, 'Unknown'), 'FullDisruption');
    assert.equal(stateOf(0, 'Unknown', 'False', undefined), 'FullDisruption');
    assert.equal(stateOf(1, 'Unknown'), 'Normal');
    assert.equal(stateOf(0), 'Normal');
  });
  it('is partial disruption from three nodes and the threshold on', () => {
    assert.equal(stateOf(1, 'Unknown', 'Unknown'), 'Normal');
    assert.equal(stateOf(1, 'Unknown', 'False', undefined), 'PartialDisruption');
    assert.equal(stateOf(3, 'Unknown', 'Unknown', 'Unknown'), 'Normal');
    assert.equal(stateOf(9, ...Array<string>(11).fill('Unknown')), 'PartialDisruption');
    assert.equal(stateOf(10, ...Array<string>(11).fill('Unknown')), 'Normal');
  });
});

describe('evictionRate', () => {
  it('is none in a small zone that is partly disrupted, and a tenth in a large one', () => {
    assert.equal(evictionRate('Normal', 4, rates), 0.1);
    assert.equal(evictionRate('PartialDisruption', 50, rates), 0);
    assert.equal(evictionRate('PartialDisruption', 51, rates), 0.01);
    assert.equal(evictionRate('FullDisruption', 4, rates), 0.1);
  });
});

describe('zoneKey', () => {
  it('is made of region and zone, by the old labels where there are no new ones', () => {
    const [region, zone] = ['topology.kubernetes.io/region', 'topology.kubernetes.io/zone'];
    const old = 'failure-domain.beta.kubernetes.io';
    assert.equal(zoneKey(node('True')), '');
    assert.equal(zoneKey(node('True', { [region]: 'r', [zone]: 'z' })), 'r:\0:z');
    assert.equal(zoneKey(node('True', { [zone]: 'z', [`${old}/zone`]: 'y' })), ':\0:z');
    assert.equal(zoneKey(node('True', { [`${old}/zone`]: 'y', [`${old}/region`]: 'q' })), 'q:\0:y');
  });
  it('leaves out nodes that are excluded from disruption', () => {
    assert.equal(countsForZone(node('True')), true);
    assert.equal(countsForZone(node('True', { 'node.kubernetes.io/exclude-disruption': '' })), false);
  });
});

describe('Zones', () => {
  it('count each node where it is and as it is, and only once', () => {
    const inZone = (name: string, zone: string, ready: string, labels = {}): Node =>
      ({
        metadata: { name, labels: { 'topology.kubernetes.io/zone': zone, ...labels } },
        status: { conditions: [{ type: 'Ready', status: ready }] },
      }) as unknown as Node;
    const zones = new Zones([inZone('a', 'x', 'True'), inZone('b', 'x', 'False'), inZone('c', 'y', 'True')]);
    const seen = (): unknown[] =>
      [...zones.all.values()].map(({ members, ready, notReady }) => [[...members], ready, notReady]);
    assert.deepEqual(seen(), [
      [['a', 'b'], 1, 1],
      [['c'], 1, 0],
    ]);
    assert.equal(zones.saw(inZone('a', 'x', 'True', { other: 'label' })), false);
    assert.equal(zones.saw(inZone('b', 'x', 'True')), true);
    assert.equal(zones.saw(inZone('c', 'x', 'Unknown')), true);
    assert.deepEqual(seen(), [[['a', 'b', 'c'], 2, 1]]);
    assert.equal(zones.saw(inZone('a', 'x', 'True', { 'node.kubernetes.io/exclude-disruption': '' })), true);
    zones.left('c');
    zones.left('nobody');
    assert.deepEqual(seen(), [[['b', 'a'], 1, 0]]);
  });
});
