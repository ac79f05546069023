// Webhooks that lie, hang, flood or answer nonsense: what the user is told, and that nothing of them is left.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import { patchOf, startWebhookServer, type WebhookAnswer } from '../harness/webhook-server.ts';

const plane = await startTestControlPlane();
const server = await startWebhookServer();
after(async () => {
  await plane.close();
  await server.close();
});
const { ask } = plane;
const registration = '/apis/admissionregistration.k8s.io/v1';
const configMaps = '/api/v1/namespaces/default/configmaps';

async function configure(kind: 'mutating' | 'validating', more: object = {}): Promise<void> {
  const webhook = {
    name: 'h.example.com',
    clientConfig: { url: `${server.url}/hook`, caBundle: server.caBundle },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 10,
    ...more,
  };
  const url = `${registration}/${kind}webhookconfigurations`;
  await ask('DELETE', `${url}/hook`);
  const made = await ask('POST', url, { metadata: { name: 'hook' }, webhooks: [webhook] });
  assert.equal(made.status, 201, made.text);
}

beforeEach(async () => {
  for (const kind of ['mutating', 'validating'])
    await ask('DELETE', `${registration}/${kind}webhookconfigurations/hook`);
  server.answers.clear();
});

const create = () => ask('POST', configMaps, { metadata: { generateName: 'x-' } });
const postWithin = (seconds: number): string => `Post "${server.url}/hook?timeout=${seconds}s": `;

/** The part that says what was wrong. */
async function whyRefused(answer: WebhookAnswer): Promise<string> {
  server.answers.set('/hook', () => answer);
  const { status, message } = await create();
  assert.equal(status, 500, message);
  const prefix = 'Internal error occurred: failed calling webhook "h.example.com": ';
  assert.ok(message.startsWith(prefix), message);
  return message.slice(prefix.length);
}

const raw =
  (
    body: string | Buffer,
    status = 200,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ) =>
  (response: Parameters<Extract<WebhookAnswer, (...all: never[]) => void>>[0]): void =>
    void response.writeHead(status, headers).end(body);
const review = (response: object, more: object = {}): string =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', ...more, response });

test("an answer that is none is told in upstream's words", async () => {
  await configure('validating');
  const invalid = 'received invalid webhook response: ';
  const failed = 'failed to call webhook: ';
  const rows: readonly (readonly [WebhookAnswer, string])[] = [
    [raw(review({ uid: 'other', allowed: true })), `${invalid}expected response.uid=`],
    [raw('{"kind":"AdmissionReview"}'), `${invalid}webhook response was absent`],
    [{ allowed: 'yes' }, `${invalid}json: cannot unmarshal string into Go struct field`],
    [
      { allowed: true, ...patchOf({ op: 'remove', path: '/data' }) },
      `${invalid}validating webhook may not return response.patch`,
    ],
    [
      { allowed: true, patchType: 'JSONPatch' },
      `${invalid}validating webhook may not return response.patchType`,
    ],
    [{ allowed: false, auditAnnotations: { a: 1 } }, `${invalid}json: cannot unmarshal number`],
    [{ allowed: false, status: { code: 'x' } }, `${invalid}json: cannot unmarshal string`],
    [
      { allowed: false, status: { details: { retryAfterSeconds: '1\r\nx: y' } } },
      `${invalid}json: cannot unm`,
    ],
    [raw(''), `${failed}0-length response with status code: 200 and content type: application/json`],
    [
      raw('<html>'),
      `${failed}couldn't get version/kind; json parse error: invalid character '<' looking for`,
    ],
    [raw('[]'), `${failed}couldn't get version/kind; json parse error: json: cannot unmarshal array into Go`],
    [raw('['.repeat(100_000)), `${failed}couldn't get version/kind; json parse error: exceeded max depth`],
    [raw('no such page', 404, {}), `${failed}the server could not find the requested resource`],
    [
      raw('oh no', 500, { 'content-type': 'text/plain' }),
      `${failed}an error on the server ("oh no") has prevented the request from succeeding`,
    ],
    [raw('{}', 500), `${failed}an error on the server ("unknown") has prevented the request from succeeding`],
    [
      raw('', 307, { location: `${server.url}/elsewhere` }),
      `${failed}the server responded with the status code 307 but did not return more details`,
    ],
    [(response) => void response.destroy(), `${failed}${postWithin(10)}EOF`],
    [raw(Buffer.alloc(4 << 20, ' ')), `${failed}${postWithin(10)}http: response body too large`],
    [raw('', 200, { 'x-long': 'x'.repeat(80_000) }), `${failed}${postWithin(10)}`],
  ];
  for (const [answer, expected] of rows) {
    const why = await whyRefused(answer);
    assert.ok(why.startsWith(expected), `${why}\n${expected}`);
  }
  assert.ok(!server.asked.some(({ path }) => path.includes('elsewhere')));
  server.answers.set('/hook', ({ request }) =>
    raw(review({ uid: request.uid, allowed: true }, { apiVersion: 'admission.k8s.io/v1beta1' })),
  );
  assert.match(
    (await create()).message,
    /expected webhook response of admission.k8s.io\/v1, Kind=AdmissionReview, got admission.k8s.io\/v1beta1, Kind=AdmissionReview$/,
  );
});

test("a patch that is none is told in upstream's words", async () => {
  await configure('mutating');
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const invalid = 'received invalid webhook response: ';
  const rows: readonly (readonly [WebhookAnswer, string])[] = [
    [
      { allowed: true, patch: encoded('[]') },
      `${invalid}webhook returned response.patch but not response.patchType`,
    ],
    [
      { allowed: true, patchType: 'JSONPatch' },
      `${invalid}webhook returned response.patchType but not response.patch`,
    ],
    [
      { allowed: true, patchType: '', patch: encoded('[]') },
      `${invalid}webhook returned invalid response.patchType of ""`,
    ],
    [
      { allowed: true, patchType: 'JSONPatch', patch: '%%%' },
      `${invalid}illegal base64 data at input byte 0`,
    ],
    [
      { allowed: true, patchType: 'JSONPatch', patch: encoded('{}') },
      'received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch',
    ],
    [
      { allowed: true, patchType: 'Merge', patch: encoded('[{"op":"remove","path":"/data"}]') },
      'unsupported patch type "Merge"',
    ],
  ];
  for (const [answer, expected] of rows) assert.equal(await whyRefused(answer), expected);
  // Each doubles what the one before made: a few bytes that would be gigabytes.
  const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/data/a', path: '/data/b' }));
  const grow = [{ op: 'add', path: '/data', value: { a: 'x'.repeat(200_000) } }, ...doubling];
  server.answers.set('/hook', () => ({ allowed: true, ...patchOf(...grow) }));
  const { status, message } = await create();
  assert.deepEqual([status, message.startsWith('Internal error occurred: ')], [500, true]);
});

test('a refusal has a code of HTTP and headers of one line, whatever it says', async () => {
  await configure('validating');
  for (const [code, expected] of [
    [200, 400],
    [-5, 400],
    [418, 418],
    [100_000, 599],
  ]) {
    server.answers.set('/hook', () => ({ allowed: false, status: { code, message: 'x' } }));
    assert.equal((await create()).status, expected);
  }
  const many = Array.from({ length: 50_000 }, (_, i) => `warning ${i}\r\nx: y "`);
  server.answers.set('/hook', () => ({ allowed: true, warnings: many }));
  const answer = await create();
  assert.equal(answer.status, 201);
  assert.ok(answer.warnings.length > 1 && answer.warnings.join('').length < 10_000);
  assert.ok(answer.warnings.every((text) => /^299 - "[^\r\n]*"$/.test(text)));
});

test('who does not answer in time is left alone, and no connection to it is kept', async () => {
  await configure('validating', { timeoutSeconds: 1 });
  const hangs: readonly WebhookAnswer[] = [
    () => {},
    (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
  ];
  for (const hang of hangs) {
    const kept = server.open();
    const start = performance.now();
    assert.equal(await whyRefused(hang), `failed to call webhook: ${postWithin(1)}context deadline exceeded`);
    assert.ok(performance.now() - start < 5_000);
    await eventually(async () => assert.ok(server.open() <= kept, String(server.open())));
  }
  await configure('validating', { timeoutSeconds: 1, failurePolicy: 'Ignore' });
  assert.equal((await create()).status, 201);
});

test('a flood of requests does not become a flood of connections', async () => {
  await configure('validating', { timeoutSeconds: 20 });
  let most = 0;
  server.answers.set('/hook', () => {
    most = Math.max(most, server.open());
    return { allowed: true };
  });
  const answers = await Promise.all(Array.from({ length: 300 }, create));
  assert.ok(answers.every(({ status }) => status === 201 || status === 429));
  assert.ok(most >= 1 && most <= 32, String(most));
  await eventually(async () => assert.ok(server.open() <= 8, String(server.open())));
});

test('a certificate of another authority, for another name or of nobody is not believed', async () => {
  const other = await startWebhookServer();
  try {
    const told = async (clientConfig: object): Promise<string> => {
      await configure('validating', { clientConfig });
      return (await create()).message;
    };
    const verify = 'tls: failed to verify certificate: x509: ';
    const url = `${server.url}/hook`;
    assert.ok(
      (await told({ url, caBundle: other.caBundle })).endsWith(
        `${verify}certificate signed by unknown authority`,
      ),
    );
    assert.ok((await told({ url })).endsWith(`${verify}certificate signed by unknown authority`));
    const named = `https://localhost.localdomain:${server.port}/hook`;
    assert.match(await told({ url: named.replace('.localdomain', ''), caBundle: server.caBundle }), /^$/);
    const garbage = await told({ url, caBundle: Buffer.from('garbage').toString('base64') });
    assert.equal(
      garbage,
      'Internal error occurred: failed calling webhook "h.example.com": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block',
    );
  } finally {
    await other.close();
  }
});

test('who waits a moment for a webhook that hangs has an answer then, and nothing was made', async () => {
  await configure('validating');
  const hangs = Promise.withResolvers<void>();
  server.answers.set('/hook', async () => {
    await hangs.promise;
    return { allowed: true };
  });
  const late = await ask('POST', `${configMaps}?timeout=100ms`, { metadata: { name: 'late' } });
  assert.equal(late.status, 504, late.text);
  assert.equal(
    late.message,
    'Timeout: request did not complete within requested timeout - context deadline exceeded',
  );
  hangs.resolve();
  server.answers.clear();
  assert.equal((await ask('GET', `${configMaps}/late`)).status, 404);
});

test('who waits a moment only is not let past a webhook whose failures are ignored', async () => {
  await configure('validating', { failurePolicy: 'Ignore' });
  const hung = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  server.answers.set('/hook', async () => {
    asked.resolve();
    await hung.promise;
    return { allowed: false };
  });
  const late = await ask('POST', `${configMaps}?timeout=2s`, { metadata: { name: 'past' } });
  assert.equal(late.status, 504, late.text);
  await asked.promise;
  hung.resolve();
  server.answers.clear();
  // Whatever became of it, a write after it is there later.
  await ask('POST', configMaps, { metadata: { name: 'after' } });
  assert.equal((await ask('GET', `${configMaps}/past`)).status, 404);
});

test('large bodies that wait for a webhook are in the way of no other large one', {
  timeout: 60_000,
}, async () => {
  for (const kind of ['mutating', 'validating'] as const) {
    await configure(kind);
    const hung = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let waiting = 0;
    server.answers.set('/hook', async () => {
      if (++waiting === 8) asked.resolve();
      await hung.promise;
      return { allowed: true };
    });
    const large = { a: 'x'.repeat(100_000) };
    const many = Array.from({ length: 8 }, (_, i) =>
      ask('POST', configMaps, { metadata: { name: `${kind}-${i}` }, data: large }),
    );
    await asked.promise;
    const secret = { metadata: { name: `beside-${kind}` }, stringData: large };
    assert.equal((await ask('POST', '/api/v1/namespaces/default/secrets', secret)).status, 201);
    hung.resolve();
    for (const one of many) assert.equal((await one).status, 201);
    await ask('DELETE', `${registration}/${kind}webhookconfigurations/hook`);
  }
});
