// Addresses that nobody gives to a Service or an endpoint, in all their spellings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usableIpErrors } from './names.ts';

test('loopback, link-local and unspecified addresses are refused in upstream’s words, however they are written', () => {
  const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
  const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
  const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
  for (const [ip, error] of [
    ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['::', 'may not be unspecified (::)'],
    ['0:0:0:0:0:0:0:0', 'may not be unspecified (0:0:0:0:0:0:0:0)'],
    ['::ffff:0.0.0.0', 'may not be unspecified (::ffff:0.0.0.0)'],
    ['127.0.0.1', loopback],
    ['127.255.0.9', loopback],
    ['::1', loopback],
    ['0:0::1', loopback],
    ['::ffff:127.0.0.1', loopback],
    ['::FFFF:7f00:1', loopback],
    ['169.254.169.254', linkLocal],
    ['::ffff:a9fe:a9fe', linkLocal],
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
