// Nobody outside of the machine reaches a server that was not told to let them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenAddresses } from './listen-addresses.ts';

const machine = ['192.0.2.2', '172.30.0.1'];

test('S20: a server listens on loopback and where it is advertised; everywhere only when asked', () => {
  const rows: [bind: string | undefined, advertise: string | undefined, listen: string[], more: string[]][] =
    [
      [undefined, undefined, ['127.0.0.1'], []],
      [undefined, '172.30.0.1', ['127.0.0.1', '172.30.0.1'], []],
      ['192.0.2.2', '172.30.0.1', ['127.0.0.1', '172.30.0.1', '192.0.2.2'], []],
      ['192.0.2.2', undefined, ['127.0.0.1', '192.0.2.2'], []],
      ['127.0.0.1', undefined, ['127.0.0.1'], []],
      ['0.0.0.0', '172.30.0.1', ['0.0.0.0'], ['127.0.0.1', '172.30.0.1', '192.0.2.2']],
      ['::', undefined, ['::'], ['127.0.0.1', '192.0.2.2', '172.30.0.1']],
    ];
  for (const [bindAddress, advertiseAddress, listen, more] of rows) {
    const found = listenAddresses({ bindAddress, advertiseAddress, machine });
    assert.deepEqual(found.listen, listen);
    assert.deepEqual(found.addresses, more.length > 0 ? more : listen, 'the certificate names them');
  }
});
