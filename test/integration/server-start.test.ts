// A server that starts: who comes before it can answer waits for the answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { freePort } from '../../src/cmd/cluster/free-port.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { scratchDirectory } from '../harness/scratch.ts';

test('who asks a server whose objects are being made waits, and is not told to ask again', async (t) => {
  const scratch = scratchDirectory('server-start');
  t.after(() => scratch.remove());
  const securePort = await freePort('127.0.0.1', 0);
  const [making, made] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  class SlowStorage extends MemoryStorage {
    override async create(...args: Parameters<Storage['create']>): ReturnType<Storage['create']> {
      making.resolve();
      await made.promise;
      return super.create(...args);
    }
  }
  const starting = startServer({
    dataDir: scratch.path,
    securePort,
    bindAddress: '127.0.0.1',
    log: silentLogger,
    storage: new SlowStorage(systemClock),
  });
  await making.promise;
  const asked = connect({ host: '127.0.0.1', port: securePort, rejectUnauthorized: false });
  let answer = '';
  asked.on('data', (data: Buffer) => {
    answer += data.toString();
  });
  await once(asked, 'secureConnect');
  asked.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  // The server is in this process: by then it has read what was asked, and would have answered.
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
  assert.equal(answer, '');
  made.resolve();
  const server = await starting;
  try {
    await once(asked, 'close');
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\bok$/);
  } finally {
    await server.stop();
  }
});
