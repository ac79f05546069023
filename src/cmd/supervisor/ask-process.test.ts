// A process is asked over a unix socket: what answers lives, and who only has its connection taken does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { answerLiveness } from './answer-liveness.ts';
import { askProcess } from './ask-process.ts';

const never = (): AbortSignal => new AbortController().signal;

test('B3: who lives answers on its socket, whatever network it is in, and nobody else may ask', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-alive-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const socket = join(folder, 'agent.sock');
  await assert.rejects(askProcess({ socket }, never()), { code: 'ENOENT' });
  writeFileSync(socket, 'what an earlier one left');
  const server = await answerLiveness(socket);
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  for (let i = 0; i < 3; i++) assert.equal(await askProcess({ socket }, never()), true);
  await server.close();
  await assert.rejects(askProcess({ socket }, never()));
});

test('B3: a process that stands still takes the connection and says nothing: it does not answer', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-alive-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const socket = join(folder, 'agent.sock');
  const program = `
    import { answerLiveness } from ${JSON.stringify(new URL('./answer-liveness.ts', import.meta.url).href)};
    await answerLiveness(${JSON.stringify(socket)});
    console.log('answers');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  assert.equal(await askProcess({ socket }, never()), true);
  child.kill('SIGSTOP');
  await assert.rejects(askProcess({ socket }, AbortSignal.timeout(300)), { name: 'AbortError' });
  child.kill('SIGCONT');
  assert.equal(await askProcess({ socket }, never()), true);
});
