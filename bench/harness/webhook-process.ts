// A webhook that allows everything, in a process of its own: what it costs itself is not its caller's.
import { startWebhookServer } from '../../test/harness/webhook-server.ts';

const { url, caBundle, asked, answers } = await startWebhookServer();
answers.set('/allow', () => {
  asked.length = 0;
  return { allowed: true };
});
console.log(JSON.stringify({ url: `${url}/allow`, caBundle }));
