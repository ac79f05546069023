// No Service takes the addresses by which a node works, however they are written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { reservedAddresses } from './reserved-addresses.ts';

const options = {
  resolvers: ['192.0.2.53', '2001:db8::53', '192.0.2.53'],
  resolve: async (): Promise<string[]> => assert.fail('an address needs no resolver'),
  clock: new FakeClock(),
  log: silentLogger,
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('resolvers and the API server are reserved in both families, an IPv4 address inside IPv6 as itself', async () => {
  for (const [url, expected] of [
    ['https://203.0.113.1:6443', ['192.0.2.53/32', '2001:db8::53/128', '203.0.113.1/32']],
    ['https://[::ffff:203.0.113.1]:6443', ['192.0.2.53/32', '2001:db8::53/128', '203.0.113.1/32']],
    ['https://[2001:db8::1]:6443', ['192.0.2.53/32', '2001:db8::1/128', '2001:db8::53/128']],
  ] as const)
    assert.deepEqual(
      (await reservedAddresses({ ...options, apiServer: new URL(url).hostname })).cidrs,
      expected,
    );
});

test('what the name of the API server means is reserved, and followed; who does not answer takes nothing back', async () => {
  const clock = new FakeClock();
  const answers: (readonly string[] | Error | undefined)[] = [
    ['203.0.113.2', '203.0.113.1'],
    ['203.0.113.1', '203.0.113.2'],
    new Error('SERVFAIL'),
    undefined,
    ['203.0.113.3'],
  ];
  const reserved = await reservedAddresses({
    ...options,
    clock,
    apiServer: 'api.example.com',
    resolve: async (name) => {
      assert.equal(name, 'api.example.com');
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer ?? (await new Promise<never>(() => {}));
    },
  });
  assert.deepEqual(reserved.cidrs, ['192.0.2.53/32', '2001:db8::53/128', '203.0.113.1/32', '203.0.113.2/32']);
  const told: (readonly string[])[] = [];
  const stop = reserved.follow((cidrs) => told.push(cidrs));
  for (let i = 0; i < 5; i++) {
    clock.advance(60_000);
    await turn();
  }
  assert.deepEqual([told, answers], [[['192.0.2.53/32', '2001:db8::53/128', '203.0.113.3/32']], []]);
  stop();
  assert.equal(clock.pending, 0);
});

test('a node starts while nobody resolves the name', async () => {
  const clock = new FakeClock();
  const starting = reservedAddresses({
    ...options,
    clock,
    apiServer: 'api.example.com',
    resolve: () => new Promise(() => {}),
  });
  await turn();
  clock.advance(5_000);
  assert.deepEqual((await starting).cidrs, ['192.0.2.53/32', '2001:db8::53/128']);
});
