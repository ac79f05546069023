// A webhook in a process of its own that is slow, or answers by its path what no webhook should. Prints where it is.
import { setTimeout as delay } from 'node:timers/promises';
import { startWebhookServer, type WebhookAnswer } from '../../harness/webhook-server.ts';

const server = await startWebhookServer();
const json = { 'content-type': 'application/json' };
const piece = Buffer.alloc(64 * 1024, 0x20);

const answers: Readonly<Record<string, () => WebhookAnswer | Promise<WebhookAnswer>>> = {
  '/slow': async () => {
    await delay(2_000);
    return { allowed: true };
  },
  '/endless': () => (response) => {
    response.writeHead(200, json);
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', more);
    more();
  },
  '/half': () => (response) => {
    response.writeHead(200, { ...json, 'content-length': '1000' });
    response.write('{"kind":', () => response.destroy());
  },
  '/redirect': () => (response) =>
    void response.writeHead(307, { location: `${server.url}/elsewhere` }).end(),
  '/open': () => (response) => void response.writeHead(200, json).write('{'),
};
for (const [path, answer] of Object.entries(answers))
  server.answers.set(path, () => {
    // What was asked is of no use to anybody here.
    server.asked.length = 0;
    return answer();
  });
server.answers.set('/elsewhere', () => {
  console.log('followed');
  return { allowed: true };
});
console.log(JSON.stringify({ url: server.url, caBundle: server.caBundle }));
