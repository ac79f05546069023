// Which ServiceCIDRs give addresses, and which addresses of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceCIDR } from '../../api/generated/types/networking-v1.ts';
import { givesAddress } from '../../component-helpers/service-cidrs.ts';
import { addressAt, rangeOf, readyPrefixes } from './service-ranges.ts';

const cidr = (name: string, cidrs: string[], more: Partial<ServiceCIDR> = {}): ServiceCIDR => ({
  metadata: { name },
  spec: { cidrs },
  ...more,
});
const ready = (status: string): Partial<ServiceCIDR> => ({
  status: {
    conditions: [
      { type: 'Ready', status, reason: '', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  },
});
const deleted = { metadata: { name: 'gone', deletionTimestamp: '2026-01-01T00:00:00Z' } };

const texts = (cidrs: ServiceCIDR[]): string[] =>
  readyPrefixes(cidrs)
    .map(rangeOf)
    .map(({ first, last, reserved }) => `${addressAt(first)}-${addressAt(last)} ${reserved} reserved`);

test('networks and broadcast addresses are left out, the lowest are for those who name one', () => {
  assert.deepEqual(texts([cidr('kubernetes', ['10.96.0.0/16'])]), ['10.96.0.1-10.96.255.254 256 reserved']);
  assert.deepEqual(texts([cidr('a', ['10.1.0.0/24'])]), ['10.1.0.1-10.1.0.254 16 reserved']);
  assert.deepEqual(texts([cidr('a', ['10.1.0.0/28'])]), ['10.1.0.1-10.1.0.14 0 reserved']);
});

test('all that are ready are used, each prefix once, the own one first; what is being deleted or of IPv6 is not', () => {
  const all = [
    cidr('a', ['10.1.0.0/28', 'fd00::/112']),
    cidr('b', ['10.1.0.0/28'], ready('True')),
    cidr('c', ['10.3.0.0/28'], ready('False')),
    cidr('d', ['10.4.0.0/28'], deleted),
    cidr('kubernetes', ['10.2.0.0/28'], ready('True')),
  ];
  assert.deepEqual(texts(all), ['10.2.0.1-10.2.0.14 0 reserved', '10.1.0.1-10.1.0.14 0 reserved']);
  assert.deepEqual(texts([]), []);
});

test('an address is of the cluster when it can be given', () => {
  const prefixes = readyPrefixes([cidr('a', ['10.1.0.0/28'])]);
  const given = [
    '10.1.0.1',
    '10.1.0.14',
    '10.1.0.0',
    '10.1.0.15',
    '10.2.0.1',
    'fd00::1',
    'None',
    '10.1.0.01',
  ];
  assert.deepEqual(
    given.filter((ip) => givesAddress(prefixes, ip)),
    ['10.1.0.1', '10.1.0.14'],
  );
});
