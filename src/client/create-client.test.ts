// Requests that the client makes, and the errors it throws, over a recording transport.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments, nodes, pods } from '../api/generated/resources.ts';
import { isStatusError, StatusError } from '../apimachinery/errors.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createMetrics } from '../component-base/metrics.ts';
import { clientMetrics } from './client-metrics.ts';
import { createClient } from './create-client.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { Transport, TransportRequest } from './transport.ts';

function answering(status: number, body: string): { transport: Transport; sent: TransportRequest[] } {
  const sent: TransportRequest[] = [];
  const transport: Transport = {
    async request(request) {
      sent.push(request);
      return {
        status,
        headers: {},
        body: (async function* () {
          yield Buffer.from(body);
        })(),
      };
    },
    async close() {},
  };
  return { transport, sent };
}
const line = (r: TransportRequest): string => `${r.method} ${r.path}${r.body ? ` ${r.body.toString()}` : ''}`;

describe('createClient', () => {
  it('writes an int64 back with the digits that it read', async () => {
    const text =
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"terminationGracePeriodSeconds":9223372036854775807}}';
    const one = answering(200, text);
    const client = createClient(one.transport);
    await client.update(pods, await client.get(pods, { name: 'a', namespace: 'n' }));
    assert.equal(one.sent[1]?.body?.toString(), text);
    const list = createClient(
      answering(200, `{"metadata":{"resourceVersion":"1"},"items":[${text}]}`).transport,
    );
    assert.equal(JSON.stringify((await list.list(pods)).items), `[${text}]`);
    const watched = createClient(answering(200, `{"type":"ADDED","object":${text}}\n`).transport);
    for await (const { object } of watched.watch(pods)) assert.equal(JSON.stringify(object), text);
  });
  it('parses no answer that nobody reads, and throws the errors all the same', async () => {
    const key = { name: 'a', namespace: 'n' };
    const patch = { type: 'merge', body: {} } as const;
    const unread = { unread: true } as const;
    const client = createClient(answering(200, 'no JSON').transport);
    assert.equal(await client.create(pods, { metadata: key, spec: { containers: [] } }, unread), undefined);
    assert.equal(await client.patch(pods, key, patch, unread), undefined);
    await assert.rejects(client.patch(pods, key, patch), SyntaxError);
    const gone = createClient(answering(404, '{"kind":"Status","reason":"NotFound","code":404}').transport);
    await assert.rejects(client.create(pods, { metadata: key, spec: { containers: [] } }), SyntaxError);
    await assert.rejects(gone.patch(pods, key, patch, unread), (error) => isStatusError(error, 'NotFound'));
  });
  it('counts answers and failures by what was asked, and how long and how large they were', async () => {
    const clock = new FakeClock();
    const registry = createMetrics();
    const metrics = clientMetrics(registry, clock, 'h:1');
    const key = { name: 'a', namespace: 'n' };
    const { transport } = answering(200, '{"metadata":{}}');
    const slow: Transport = {
      ...transport,
      async request(request) {
        clock.advance(300);
        return transport.request(request);
      },
    };
    const client = createClient(slow, { metrics });
    await client.get(pods, key);
    await client.patch(pods, key, { type: 'merge', body: {} });
    for await (const _ of createClient(answering(200, '').transport, { metrics }).watch(pods));
    await assert.rejects(createClient(answering(404, '{}').transport, { metrics }).get(pods, key));
    const silent: Transport = {
      ...transport,
      async request() {
        clock.advance(60_000);
        throw new Error('no answer');
      },
    };
    await assert.rejects(createClient(silent, { metrics }).get(pods, key), /no answer/);
    const told = (await registry.text()).text.split('\n');
    for (const line of [
      'rest_client_requests_total{code="200",method="GET",host="h:1"} 2',
      'rest_client_requests_total{code="404",method="GET",host="h:1"} 1',
      'rest_client_requests_total{code="<error>",method="GET",host="h:1"} 1',
      'rest_client_requests_total{code="200",method="PATCH",host="h:1"} 1',
      'rest_client_request_duration_seconds_sum{verb="GET",host="h:1"} 60.3',
      // The watch is none of them.
      'rest_client_request_duration_seconds_count{verb="GET",host="h:1"} 3',
      'rest_client_request_size_bytes_sum{verb="GET",host="h:1"} 0',
      'rest_client_request_size_bytes_count{verb="GET",host="h:1"} 3',
      'rest_client_response_size_bytes_sum{verb="GET",host="h:1"} 17',
      'rest_client_response_size_bytes_count{verb="GET",host="h:1"} 2',
      'rest_client_request_size_bytes_sum{verb="PATCH",host="h:1"} 2',
      'rest_client_response_size_bytes_sum{verb="PATCH",host="h:1"} 15',
    ])
      assert.ok(told.includes(line), `${line} in\n${told.join('\n')}`);
  });
  it('builds the paths of the API', async () => {
    const { transport, sent } = answering(200, '{}');
    const client = createClient(transport);
    const key = { name: 'a', namespace: 'n' };
    await client.get(pods, key);
    await client.get(nodes, { name: 'x' });
    await client.list(pods, { labelSelector: 'a in (b,c)', limit: 5 });
    await client.create(pods, { metadata: { generateName: 'p-', namespace: 'n' }, spec: { containers: [] } });
    await client.update(
      deployments,
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: key, spec: {} as never },
      { subresource: 'status' },
    );
    await client.patch(
      deployments,
      key,
      { type: 'apply', body: {}, fieldManager: 'me', force: true },
      { dryRun: true },
    );
    await client.delete(pods, key, { gracePeriodSeconds: 0, preconditions: { uid: 'u' } });
    await client.createSubresource(pods, key, 'binding', { target: { name: 'x' } });
    assert.deepEqual(sent.map(line), [
      'GET /api/v1/namespaces/n/pods/a',
      'GET /api/v1/nodes/x',
      'GET /api/v1/pods?labelSelector=a%20in%20(b%2Cc)&limit=5',
      'POST /api/v1/namespaces/n/pods {"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p-","namespace":"n"},"spec":{"containers":[]}}',
      'PUT /apis/apps/v1/namespaces/n/deployments/a/status {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n"},"spec":{}}',
      'PATCH /apis/apps/v1/namespaces/n/deployments/a?fieldManager=me&dryRun=All&force=true {}',
      'DELETE /api/v1/namespaces/n/pods/a {"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"preconditions":{"uid":"u"}}',
      'POST /api/v1/namespaces/n/pods/a/binding {"target":{"name":"x"}}',
    ]);
  });

  it('lets no name leave its place in the path', async () => {
    const client = createClient(answering(200, '{}').transport);
    for (const name of ['', '.', '..', 'a/b', '%2e%2e'])
      await assert.rejects(
        async () => client.get(pods, { name, namespace: 'n' }),
        /can not be a path segment/,
      );
  });

  it('throws the Status that the server sent', async () => {
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'NotFound',
      code: 404,
      message: 'pods "a" not found',
    };
    const client = createClient(answering(404, JSON.stringify(status)).transport);
    await assert.rejects(
      client.get(pods, { name: 'a', namespace: 'n' }),
      (e: unknown) => isStatusError(e, 'NotFound') && e.message === 'pods "a" not found',
    );
  });

  it('says what client-go says when the answer is no Status', async () => {
    const client = createClient(answering(503, '<html>').transport);
    await assert.rejects(client.list(pods), {
      message: 'the server is currently unable to handle the request',
    });
  });

  it('throws from a watch that is refused', async () => {
    const client = createClient(
      answering(410, '{"kind":"Status","reason":"Expired","code":410,"message":"too old"}').transport,
    );
    await assert.rejects(
      async () => {
        for await (const _ of client.watch(pods)) assert.fail('no event');
      },
      (e: unknown) => isStatusError(e, 'Expired'),
    );
  });
});

describe('retryOnConflict', () => {
  it('tries five times, then throws the conflict', async () => {
    let tries = 0;
    const conflict = (): never => {
      tries++;
      throw new StatusError(409, 'Conflict', 'no');
    };
    await assert.rejects(retryOnConflict(async () => conflict()));
    assert.equal(tries, 5);
  });
});
