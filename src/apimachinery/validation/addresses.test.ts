// Addresses that nobody gives to a Service or an endpoint, in all their spellings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalCidrErrors,
  canonicalIpErrors,
  cidrErrors,
  cidrWarnings,
  interfaceAddressErrors,
  ipErrors,
  ipWarnings,
  specialIpErrors,
  usableIpErrors,
} from './addresses.ts';

test('loopback, link-local and unspecified addresses are refused in upstream’s words, however they are written', () => {
  const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  for (const [ip, error] of [
    ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['::', 'may not be unspecified (::)'],
    ['0:0:0:0:0:0:0:0', 'may not be unspecified (0:0:0:0:0:0:0:0)'],
    ['127.0.0.1', loopback],
    ['127.255.0.9', loopback],
    ['::1', loopback],
    ['0:0::1', loopback],
    ['169.254.169.254', linkLocal],
    ['fe80::1', linkLocal],
    ['FEBF::1', linkLocal],
    ['224.0.0.1', multicast],
    ['ff02::1', multicast],
    ['ff12::1', multicast],
    ['127.1', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ] as const)
    assert.deepEqual(usableIpErrors(ip), [error], ip);
  for (const ip of [
    '10.0.0.1',
    '203.0.113.7',
    '224.0.1.1',
    '2001:db8::1',
    'fd00::127.0.0.1',
    'fec0::1',
    'ff05::2',
    '::2',
  ])
    assert.deepEqual(usableIpErrors(ip), [], ip);
});

test('what older parsers took is refused, and not for what it stands for alone', () => {
  const valid = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
  for (const [ip, expected] of [
    ['010.002.003.004', ['must not have leading 0s']],
    ['10.0.0.00', ['must not have leading 0s']],
    ['::ffff:010.2.3.4', ['must not have leading 0s']],
    ['00001::1', ['must not have leading 0s']],
    ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
    ['FE80:0:0:0:0:0:0:0abc', []],
    ['10.0.0.0', []],
    ['fe80::1%eth0', [valid]],
    ['1.2.3.0400', [valid]],
    ['', [valid]],
    ['0'.repeat(100_000), [valid]],
  ] as const)
    assert.deepEqual(ipErrors(ip), expected, ip.slice(0, 40));
  assert.deepEqual(specialIpErrors('127.0.0.01'), [
    'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ]);
  assert.deepEqual(specialIpErrors('::ffff:127.0.0.1'), specialIpErrors('127.0.0.1'));
  assert.deepEqual(canonicalIpErrors('FE80::1'), ['must be in canonical form ("fe80::1")']);
  assert.deepEqual(canonicalIpErrors('10.0.0.1'), []);

  const prefix = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  for (const [cidr, expected] of [
    ['10.0.0.0/8', []],
    ['2001:DB8::/32', []],
    ['010.0.0.0/8', ['must not have leading 0s in IP or prefix length']],
    ['10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
    ['::ffff:10.0.0.0/104', ['must not have an IPv4-mapped IPv6 address']],
    ['192.168.0.5/24', ['must not have bits set beyond the prefix length']],
    ['10.0.0.0/33', [prefix]],
    ['10.0.0.0', [prefix]],
  ] as const)
    assert.deepEqual(cidrErrors(cidr), expected, cidr);
  assert.deepEqual(canonicalCidrErrors('2001:DB8::/32'), ['must be in canonical form ("2001:db8::/32")']);

  assert.deepEqual(interfaceAddressErrors('192.168.0.5/24'), []);
  assert.deepEqual(interfaceAddressErrors('::ffff:192.168.0.5/120'), [
    'must be in canonical form ("192.168.0.5/24")',
  ]);
  assert.deepEqual(interfaceAddressErrors('x'), [
    'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
  ]);
});

test('odd spellings of what is right are told of', () => {
  for (const [ip, expected] of [
    ['10.0.0.1', []],
    ['x', []],
    ['010.0.0.1', ['f: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']],
    ['::ffff:1.2.3.4', ['f: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"']],
    ['2001:DB8::1', ['f: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")']],
  ] as const)
    assert.deepEqual(ipWarnings('f', ip), expected, ip);
  for (const [cidr, expected] of [
    ['10.0.0.0/8', []],
    [
      '10.1.0.0/8',
      ['f: CIDR value "10.1.0.0/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.0.0/32"?)'],
    ],
    ['10.0.0.0/08', ['f: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"']],
    [
      '::ffff:10.0.0.0/104',
      ['f: non-standard CIDR value "::ffff:10.0.0.0/104" is invalid: use "10.0.0.0/8"'],
    ],
    [
      '2001:DB8::/32',
      ['f: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'],
    ],
  ] as const)
    assert.deepEqual(cidrWarnings('f', cidr), expected, cidr);
});
