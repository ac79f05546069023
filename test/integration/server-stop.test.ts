// A server is stopped once, whoever asks for it and how often: what fails first is what is reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { scratchDirectory } from '../harness/scratch.ts';

test('whoever stops a server that stops waits for the first, and one that has stopped is left alone', async (t) => {
  const scratch = scratchDirectory('server-stop');
  t.after(() => scratch.remove());
  const options = { dataDir: scratch.path, securePort: 0, bindAddress: '127.0.0.1', log: silentLogger };
  const server = await startServer(options);
  const first = server.stop();
  let firstHasEnded = false;
  void first.then(() => {
    firstHasEnded = true;
  });
  await server.stop();
  assert.ok(firstHasEnded);
  const next = await startServer(options);
  // It must not give away what is another's by now.
  await server.stop();
  await assert.rejects(startServer(options), { code: 'Locked' });
  await next.stop();
});
