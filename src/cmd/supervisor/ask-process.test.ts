// A process is asked over a unix socket: what answers lives, and who only has its connection taken does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCertificateAuthority, issueCertificate } from '../../crypto/certificates.ts';
import { answerLiveness } from './answer-liveness.ts';
import { askProcess } from './ask-process.ts';

const never = (): AbortSignal => new AbortController().signal;

test('who lives answers on its socket, whatever network it is in, and nobody else may ask', async (t) => {
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

test('a process that stands still takes the connection and says nothing: it does not answer', async (t) => {
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

test('a server that says it does not live is not taken for one that does; of an agent any answer will do', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-alive-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const dates = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2126, 0, 1) };
  const ca = await createCertificateAuthority({ commonName: 'ca', ...dates });
  const pair = await issueCertificate(ca, { commonName: 'a', usages: ['server'], ...dates });
  const server = createServer({ key: pair.privateKeyPem, cert: pair.certificatePem }, (request, response) =>
    response.writeHead(Number(request.url?.slice(1))).end(),
  );
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const file = join(folder, 'port');
  writeFileSync(file, `${port}\n`);
  const ask = (status: number, more: object = {}): Promise<boolean> =>
    askProcess({ host: '127.0.0.1', port, path: `/${status}`, ...more }, never());
  assert.deepEqual(
    [
      await ask(200),
      await ask(500),
      await ask(401),
      await ask(401, { anyAnswer: true }),
      await ask(401, { mayRefuse: true }),
      await ask(403, { mayRefuse: true }),
      await ask(500, { mayRefuse: true }),
      await ask(200, { port: { file } }),
    ],
    [true, false, false, true, true, true, false, true],
  );
});
