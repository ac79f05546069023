// Nobody outside of the machine reaches a server that was not told to let them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBindAddress, listenAddresses } from './listen-addresses.ts';

const machine = ['192.0.2.2', '172.30.0.1'];

test('a server listens on loopback and where it is advertised; everywhere only when asked', () => {
  const rows: [bind: string | undefined, advertise: string | undefined, listen: string[], more: string[]][] =
    [
      [undefined, undefined, ['127.0.0.1'], []],
      [undefined, '172.30.0.1', ['127.0.0.1', '172.30.0.1'], []],
      ['192.0.2.2', '172.30.0.1', ['127.0.0.1', '172.30.0.1', '192.0.2.2'], []],
      ['192.0.2.2', undefined, ['127.0.0.1', '192.0.2.2'], []],
      ['127.0.0.1', undefined, ['127.0.0.1'], []],
      ['0.0.0.0', '172.30.0.1', ['0.0.0.0'], ['127.0.0.1', '172.30.0.1', '192.0.2.2']],
      ['::', undefined, ['::'], ['127.0.0.1', '192.0.2.2', '172.30.0.1']],
      ['2001:db8::7', undefined, ['127.0.0.1', '2001:db8::7'], []],
    ];
  for (const [bindAddress, advertiseAddress, listen, more] of rows) {
    const found = listenAddresses({ bindAddress, advertiseAddress, machine });
    assert.deepEqual(found.listen, listen);
    assert.deepEqual(found.addresses, more.length > 0 ? more : listen, 'the certificate names them');
  }
});

test('who listens at an address of IPv6 is reached by nodes at one of IPv4', () => {
  for (const [bindAddress, advertise] of [
    ['::1', '127.0.0.1'],
    ['2001:db8::7', '127.0.0.1'],
    ['192.0.2.2', '192.0.2.2'],
  ] as const)
    assert.equal(listenAddresses({ bindAddress, advertiseAddress: undefined, machine }).advertise, advertise);
});

test('a --bind-address that no server could have is refused in one sentence', () => {
  for (const good of ['0.0.0.0', '::', '127.0.0.1', '127.8.0.1', ...machine]) checkBindAddress(good, machine);
  const rows: [string, RegExp][] = [
    [
      'nonsense',
      /^--bind-address "nonsense" is no IP address; this machine has 192\.0\.2\.2, 172\.30\.0\.1, and/,
    ],
    ['', /^--bind-address "" is no IP address/],
    ['192.0.2.300', /is no IP address/],
    [
      '192.0.2.77',
      /^--bind-address 192\.0\.2\.77 is no address of this machine; this machine has 192\.0\.2\.2,/,
    ],
    ['2001:db8::1', /is no address of this machine/],
  ];
  for (const [address, says] of rows) {
    assert.throws(
      () => checkBindAddress(address, machine),
      ({ message }: Error) => {
        assert.match(message, says);
        return !message.includes('\n');
      },
    );
  }
});
