// Answers on a unix socket for as long as the event loop runs: how a process shows that it does not hang.
import { chmodSync, rmSync } from 'node:fs';
import { serveUnixExchanges, type UnixExchangeServer } from '../../wire/unix-exchange.ts';

const idleTimeoutMs = 10_000;

/** For the only process that may answer there: what an earlier one left is removed. */
export async function answerLiveness(path: string): Promise<UnixExchangeServer> {
  rmSync(path, { force: true });
  const server = await serveUnixExchanges({
    path,
    maxQuestionBytes: 0,
    idleTimeoutMs,
    answer: async () => Buffer.from('ok\n'),
  });
  chmodSync(path, 0o600);
  return server;
}
