// Which ServiceCIDRs may go: a table of what there is beside them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IPAddress, ServiceCIDR } from '../api/generated/types/networking-v1.ts';
import { isNeeded } from './service-cidrs.ts';

const cidr = (name: string, ...cidrs: string[]): ServiceCIDR => ({ metadata: { name }, spec: { cidrs } });
const deleted = (one: ServiceCIDR): ServiceCIDR => ({
  ...one,
  metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});
const address = (name: string, manager = 'ipallocator.k8s.io'): IPAddress => ({
  metadata: { name, labels: { 'ipaddress.kubernetes.io/managed-by': manager } },
  spec: { parentRef: { resource: 'services', namespace: 'n', name: 's' } },
});

const gone = deleted(cidr('gone', '10.1.0.0/28'));
const cases: readonly (readonly [
  name: string,
  others: readonly ServiceCIDR[],
  addresses: readonly IPAddress[],
  needed: boolean,
])[] = [
  ['without addresses', [cidr('kubernetes', '10.96.0.0/16')], [address('10.96.0.1')], false],
  ['with an address of its own', [cidr('kubernetes', '10.96.0.0/16')], [address('10.1.0.1')], true],
  ['with an address that another manages', [], [address('10.1.0.1', 'me')], false],
  ['within a larger one', [cidr('larger', '10.1.0.0/24')], [address('10.1.0.1')], false],
  ['beside an equal one', [cidr('equal', '10.1.0.0/28')], [address('10.1.0.1')], false],
  [
    'within a larger one that goes, too',
    [deleted(cidr('larger', '10.1.0.0/24'))],
    [address('10.1.0.1')],
    true,
  ],
  ['whose addresses a smaller one holds', [cidr('smaller', '10.1.0.0/29')], [address('10.1.0.1')], false],
  [
    'whose addresses a smaller one holds in part',
    [cidr('smaller', '10.1.0.0/29')],
    [address('10.1.0.9')],
    true,
  ],
];

for (const [name, others, addresses, needed] of cases)
  test(`a ServiceCIDR ${name} is ${needed ? 'needed' : 'not needed'}`, () => {
    assert.equal(isNeeded(gone, [gone, ...others], addresses), needed);
  });
