// Tables that somebody else deletes come back at the next look, and only these.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Logger } from '../component-base/logger.ts';
import { keepTables } from './kept-tables.ts';
import { createFakePacketFilter } from './testing/fake-packet-filter.ts';

function world() {
  const clock = new FakeClock();
  const packetFilter = createFakePacketFilter();
  const said: string[] = [];
  const say = (_: object, message: string): void => void said.push(message);
  const log = { warn: say, error: say } as unknown as Logger;
  const tables = keepTables({ packetFilter, clock, log });
  const write = (name: string) => (): Promise<void> =>
    packetFilter.apply(`add table ${name}\ndelete table ${name}\ntable ${name} {\n}\n`);
  return {
    clock,
    packetFilter,
    said,
    tables,
    write,
    own: (name: string) => ({ written: () => [name], writeAnew: write(name) }),
    look: async () => {
      clock.advance(30_000);
      await new Promise((done) => setImmediate(done));
    },
  };
}

test('what was deleted or emptied is written anew and told once; what is there is left alone', async () => {
  const { look, own, packetFilter, said, tables, write } = world();
  for (const name of ['ip a', 'inet b']) {
    await write(name)();
    tables.keep(own(name));
  }
  await look();
  assert.deepEqual([packetFilter.applied.length, said], [2, []]);
  packetFilter.lose();
  await look();
  assert.deepEqual(await packetFilter.tables(), ['ip a', 'inet b']);
  packetFilter.empty('ip a');
  await look();
  await look();
  assert.equal(packetFilter.applied.length, 5);
  assert.deepEqual(said, [
    'the table ip a was gone; written anew',
    'the table inet b was gone; written anew',
    'the table ip a lost rules; written anew',
  ]);
  await tables.stop();
});

test('what its owner misses in a table that is there is written anew; one that cannot look keeps nobody from it', async () => {
  const { look, own, packetFilter, said, tables, write } = world();
  for (const name of ['ip a', 'inet b']) await write(name)();
  let missing: string | undefined;
  const fail = (): Promise<never> => Promise.reject(new Error('nft hangs'));
  tables.keep({ ...own('ip a'), missing: fail });
  tables.keep({
    written: () => ['inet b'],
    missing: async () => (missing === undefined ? undefined : { table: 'inet b', what: missing }),
    writeAnew: async () => {
      missing = undefined;
      await write('inet b')();
    },
  });
  await look();
  assert.equal(packetFilter.applied.length, 2);
  missing = 'lost 1 of 2 rules of x';
  for (const _ of [1, 2]) await look();
  assert.equal(packetFilter.applied.length, 3);
  const failed = 'what a table of the packet filter holds could not be listed; trying again';
  assert.deepEqual(said, [failed, failed, 'the table inet b lost 1 of 2 rules of x; written anew', failed]);
  await tables.stop();
});

test('what cannot be written is told and tried again; nobody else waits for it', async () => {
  const { look, own, packetFilter, said, tables } = world();
  for (const name of ['ip a', 'inet b']) tables.keep(own(name));
  packetFilter.failNext('busy');
  await look();
  assert.deepEqual(await packetFilter.tables(), ['inet b']);
  await look();
  assert.deepEqual(await packetFilter.tables(), ['inet b', 'ip a']);
  assert.deepEqual(said, [
    'the table ip a was gone and could not be written anew; trying again',
    'the table inet b was gone; written anew',
    'the table ip a was gone; written anew',
  ]);
  await tables.stop();
});

test('nothing comes back that is not written yet, that its owner gave up, or after the end', async () => {
  const { clock, look, own, packetFilter, tables } = world();
  tables.keep({ written: () => [], writeAnew: () => assert.fail('it was never written') });
  const forget = tables.keep(own('ip a'));
  tables.keep(own('ip c'));
  clock.advance(30_000);
  forget(); // while the tables are being listed
  await look();
  assert.deepEqual(await packetFilter.tables(), ['ip c']);
  await tables.stop();
  packetFilter.lose();
  await look();
  assert.deepEqual([await packetFilter.tables(), clock.pending], [[], 0]);
});
