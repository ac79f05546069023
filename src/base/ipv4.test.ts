// Addresses and prefixes: strict to read, the same when written, and what overlaps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatIpv4,
  formatIpv4Cidr,
  ipv4CidrContains,
  ipv4CidrsOverlap,
  parseIpv4,
  parseIpv4Cidr,
} from './ipv4.ts';

test('addresses are read strictly and written back the same', () => {
  for (const text of ['0.0.0.0', '10.244.1.7', '255.255.255.255'])
    assert.equal(formatIpv4(parseIpv4(text)!), text);
  for (const text of ['', '1.2.3', '1.2.3.4.5', '01.2.3.4', '256.1.1.1', '1.2.3.x', ' 1.2.3.4', '::1'])
    assert.equal(parseIpv4(text), undefined, text);
});

test('a prefix loses its host bits, contains its addresses and overlaps its neighbours only when they share some', () => {
  const cidr = parseIpv4Cidr('10.1.2.3/24')!;
  assert.equal(formatIpv4Cidr(cidr), '10.1.2.0/24');
  assert.ok(ipv4CidrContains(cidr, parseIpv4('10.1.2.255')!));
  assert.ok(!ipv4CidrContains(cidr, parseIpv4('10.1.3.0')!));
  assert.ok(ipv4CidrsOverlap(cidr, parseIpv4Cidr('10.0.0.0/8')!));
  assert.ok(!ipv4CidrsOverlap(cidr, parseIpv4Cidr('10.1.3.0/24')!));
  assert.ok(ipv4CidrContains(parseIpv4Cidr('0.0.0.0/0')!, parseIpv4('200.1.1.1')!));
  for (const text of ['10.0.0.0', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/8/8', 'x/8'])
    assert.equal(parseIpv4Cidr(text), undefined, text);
});
