// The machine's tables come back as `up` wrote them last; what was never seen is told, with the next step.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { type Logger, silentLogger } from '../component-base/logger.ts';
import { keepTables } from '../os/kept-tables.ts';
import { createFakePacketFilter } from '../os/testing/fake-packet-filter.ts';
import { watchFabricTables } from './fabric-tables.ts';

test("a fabric's tables come back as they were seen last, and their sets are to be filled", async () => {
  const packetFilter = createFakePacketFilter();
  const clock = new FakeClock();
  const tables = keepTables({ packetFilter, clock, log: silentLogger });
  const said: string[] = [];
  const log = { warn: (_: object, message: string) => said.push(message) } as unknown as Logger;
  let written = 0;
  const onWritten = (): void => void written++;
  const fabric = watchFabricTables({ clusterName: 'x', packetFilter, tables, log, onWritten });
  const look = async (): Promise<void> => {
    clock.advance(30_000);
    for (let i = 0; i < 3; i++) await new Promise((done) => setImmediate(done));
  };
  const up = (what: string): Promise<void> =>
    packetFilter.apply(`table ip porthole-x {\n${what}\n}\ntable netdev porthole-x {\n${what}\n}\n`);

  for (let i = 0; i < 2; i++) assert.equal(await fabric.look(), false);
  assert.equal(said.length, 2, said.join());
  for (const message of said) assert.match(message, /"porthole up" of this cluster writes it/);
  await up('one node');
  assert.equal(await fabric.look(), true);
  await up('two nodes');
  await fabric.look();
  packetFilter.lose();
  await look();
  const back = ['ip porthole-x', 'netdev porthole-x'];
  assert.deepEqual([await packetFilter.tables(), written, said.length], [back, 1, 2]);
  for (const name of back) assert.match((await packetFilter.table(name))!, /two nodes/);
  fabric.stop();
  packetFilter.lose();
  await look();
  assert.deepEqual(await packetFilter.tables(), []);
  await tables.stop();
});
