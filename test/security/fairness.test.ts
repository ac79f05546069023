// One user beside another: priority and fairness at the API, and the limits of one user.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { isPullBody } from '../../src/apiserver/http.ts';
import { startTestServer } from '../../src/apiserver/testing/test-server.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
  user,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const flow = '/apis/flowcontrol.apiserver.k8s.io/v1';
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const node = (name: string): ReturnType<typeof user> => user(`system:node:${name}`, 'system:nodes');

/** A server whose requests wait in authorization until they are let go; what is let go is noted. */
async function gated(total: number) {
  const held: { readonly who: string; go(): void }[] = [];
  const control = await startTestControlPlane({
    flowControl: { total, userLimits: { requests: 60, watches: 3, streams: 2 } },
  });
  const server = await startTestServer({
    flowControl: {
      total,
      userLimits: { requests: 60, watches: 3, streams: 2 },
      objects: {
        version: () => 1,
        schemas: () => schemas,
        levels: () => levels,
      },
    },
    authorizer: {
      authorize: async ({ user: { name } }) => {
        await new Promise<void>((go) => held.push({ who: name, go }));
        return { decision: 'allow', reason: '' };
      },
    },
  });
  /** Until what was asked is held or waits in a queue: it begins in rounds of the event loop. */
  const settled = async (): Promise<void> => {
    let seen = -1;
    for (let quiet = 0; quiet < 200; quiet++) {
      if (held.length !== seen) quiet = 0;
      seen = held.length;
      await turn();
    }
  };
  const items = async (resource: string): Promise<never[]> =>
    (await control.ask('GET', `${flow}/${resource}`)).body['items'] as never[];
  const [schemas, levels] = [await items('flowschemas'), await items('prioritylevelconfigurations')];
  return {
    server,
    held,
    settled,
    /** Lets the oldest go; tells whose it was. */
    async next(): Promise<string> {
      await eventually(() => assert.ok(held.length > 0));
      const { who, go } = held.shift()!;
      go();
      await turn();
      return who;
    },
    async close() {
      await server.close();
      await control.close();
    },
  };
}

describe('priority and fairness', () => {
  it('one user’s flood waits in queues; another’s request runs when the next seat is free', async () => {
    const { server, held, settled, next, close } = await gated(40);
    const ask = (name: string) => server.request('GET', '/api/v1/pods', undefined, { user: user(name) });
    const flood = Array.from({ length: 60 }, () => ask('tenant'));
    await settled();
    const running = held.length;
    assert.ok(running >= 3 && running < 40, `${running} of 60 run`);
    const other = ask('other');
    await settled();
    // Those that run already end first; the other is the first that begins then.
    for (let i = 0; i < running; i++) assert.equal(await next(), 'tenant');
    const order = [];
    for (let i = 0; i < running; i++) order.push(await next());
    assert.ok(order.includes('other'), order.join());
    assert.equal((await other).status, 200);
    while (
      held.length > 0 ||
      (await Promise.race([Promise.all(flood).then(() => false), turn().then(() => true)]))
    )
      if (held.length > 0) await next();
      else await turn();
    await close();
  });

  it('what is too much for one user is refused with 429, Retry-After and the level’s uid; others are not', async () => {
    const { server, held, next, close } = await gated(40);
    const flood = Array.from({ length: 61 }, () =>
      server.request('GET', '/api/v1/pods', undefined, { user: user('tenant') }),
    );
    const refused = await Promise.any(
      flood.map(async (one) => {
        const answer = await one;
        assert.equal(answer.status, 429);
        return answer;
      }),
    );
    assert.equal(refused.text, 'Too many requests, please try again later.\n');
    assert.equal(refused.headers['retry-after'], '1');
    assert.match(String(refused.headers['x-kubernetes-pf-prioritylevel-uid']), /^[0-9a-f-]{36}$/);
    assert.match(String(refused.headers['x-kubernetes-pf-flowschema-uid']), /^[0-9a-f-]{36}$/);
    let open = true;
    void Promise.all(flood).then(() => {
      open = false;
    });
    while (open) {
      if (held.length > 0) await next();
      else await turn();
    }
    assert.equal((await Promise.all(flood)).filter(({ status }) => status === 429).length, 1);
    await close();
  });

  it('leases and node status have seats while tenants, service accounts and controllers fill theirs', async () => {
    const { server, held, settled, next, close } = await gated(40);
    const crowd = [
      'tenant',
      'system:serviceaccount:team:robot',
      'system:serviceaccount:kube-system:job-controller',
    ];
    let open = 0;
    const ask = (who: ReturnType<typeof user>, path: string) => {
      open++;
      const answer = server.request('GET', path, undefined, { user: who });
      void answer.then(() => open--);
      return answer;
    };
    for (const name of crowd)
      for (let i = 0; i < 50; i++)
        void ask(
          user(name, ...(name.includes('serviceaccount') ? ['system:serviceaccounts'] : [])),
          '/api/v1/namespaces/team/pods',
        );
    await settled();
    const before = held.length;
    void ask(node('a'), '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a');
    void ask(node('a'), '/api/v1/nodes/a/status');
    void ask(user('admin', 'system:masters'), '/api/v1/pods');
    await settled();
    assert.deepEqual(
      held
        .slice(before)
        .map(({ who }) => who)
        .sort(),
      ['admin', 'system:node:a', 'system:node:a'],
    );
    while (open > 0) {
      if (held.length > 0) await next();
      else await turn();
    }
    await close();
  });

  it('sixty service accounts of one namespace leave seats, and have no more requests than a few users', async () => {
    const { server, held, settled, next, close } = await gated(200);
    const answers: Promise<{ readonly status: number }>[] = [];
    const ask = (name: string) => {
      const groups = name.includes('serviceaccount') ? ['system:serviceaccounts'] : [];
      const answer = server.request('GET', '/api/v1/namespaces/team/pods', undefined, {
        user: user(name, ...groups),
      });
      answers.push(answer);
      return answer;
    };
    const statuses: number[] = [];
    for (let account = 0; account < 60; account++)
      for (let i = 0; i < 6; i++)
        void ask(`system:serviceaccount:team:robot-${account}`).then(({ status }) => statuses.push(status));
    await settled();
    // Of 360 a user's limit of 60 lets in 240 for all of them together.
    assert.deepEqual([statuses.length, new Set(statuses)], [120, new Set([429])]);
    const before = held.length;
    void ask('system:serviceaccount:other:robot');
    await settled();
    assert.deepEqual(
      held.slice(before).map(({ who }) => who),
      ['system:serviceaccount:other:robot'],
    );
    let open = true;
    void Promise.all(answers).then(() => {
      open = false;
    });
    while (open) {
      if (held.length > 0) await next();
      else await turn();
    }
    await close();
  });

  it('what is answered from memory begins in rounds: a flood of it lets another user pass', async () => {
    const server = await startTestServer({
      authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
    });
    const selector = Array.from({ length: 500 }, (_, i) => `!absent${i}`).join();
    const order: string[] = [];
    const ask = async (name: string, query: string): Promise<number> => {
      const { status } = await server.request('GET', `/api/v1/pods${query}`, undefined, { user: user(name) });
      order.push(name);
      return status;
    };
    const flood = Array.from({ length: 300 }, () =>
      ask('tenant', `?labelSelector=${encodeURIComponent(selector)}`),
    );
    assert.equal(await ask('other', '?limit=1'), 200);
    assert.ok(order.length < 200, `${order.length} before it`);
    assert.deepEqual(new Set(await Promise.all(flood)), new Set([200]));
    await server.close();
  });

  it('thousands of requests without credentials, sent in one go on twenty connections, let another’s pass', async () => {
    const order: string[] = [];
    const server = await startTestServer({
      listen: 'plain',
      authenticator: {
        authenticate: ({ headers }) => {
          order.push(headers.authorization === undefined ? 'nobody' : 'other');
          return headers.authorization === undefined ? undefined : user('other');
        },
      },
    });
    const open = async () => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      return socket.setEncoding('latin1');
    };
    const [other, ...crowd] = await Promise.all(Array.from({ length: 21 }, open));
    // Connections are accepted one in a round.
    await Promise.all(
      [other!, ...crowd].map((socket) => {
        const answered = once(socket, 'data');
        socket.write('GET /version HTTP/1.1\r\nHost: a\r\n\r\n');
        return answered;
      }),
    );
    order.length = 0;
    for (const socket of crowd) socket.resume().write('GET /version HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500));
    other!.write('GET /version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer other\r\n\r\n');
    await once(other!, 'data');
    assert.ok(order.includes('other'));
    assert.ok(order.length < 2000, `${order.length} of 10,000 when it was answered`);
    for (const socket of [other!, ...crowd]) socket.destroy();
    await server.close();
  });

  it('requests for logs and the like begin in their user’s turn, too', async () => {
    const server = await startTestServer({
      authorizer: {
        authorize: () => {
          const until = performance.now() + 1;
          while (performance.now() < until);
          return { decision: 'allow', reason: '' };
        },
      },
    });
    const order: string[] = [];
    const ask = async (name: string, path: string): Promise<void> => {
      await server.request('GET', path, undefined, { user: user(name) });
      order.push(name);
    };
    const flood = Array.from({ length: 300 }, () => ask('tenant', '/api/v1/namespaces/team/pods/a/log'));
    await ask('other', '/api/v1/pods?limit=1');
    assert.ok(order.length < 100, `${order.length} before it`);
    await Promise.all(flood);
    await server.close();
  });

  it('a user has so many watches and no more, and a place is free when one has ended', async () => {
    const { server, held, close } = await gated(40);
    const ended = new AbortController();
    const watch = async () => {
      const answer = server.handle('GET', '/api/v1/pods?watch=true', undefined, {
        user: user('tenant'),
        signal: ended.signal,
      });
      let done = false;
      void answer.then(() => {
        done = true;
      });
      while (!done) {
        held.shift()?.go();
        await turn();
      }
      return answer;
    };
    const three = [await watch(), await watch(), await watch()];
    assert.deepEqual(
      three.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.equal((await watch()).status, 429);
    const { body } = three[0]!;
    assert.ok(body !== undefined && isPullBody(body));
    body.close();
    const again = await watch();
    assert.equal(again.status, 200);
    for (const { body: open } of [...three, again]) if (open !== undefined && isPullBody(open)) open.close();
    await close();
  });
});

describe('FlowSchemas and PriorityLevelConfigurations of the store', () => {
  let server: TestControlPlane;
  before(async () => {
    server = await startTestControlPlane();
  });
  after(() => server.close());

  it('a schema is dangling until its level is there, and has effect from then on', async () => {
    const schema = {
      metadata: { name: 'team' },
      spec: {
        matchingPrecedence: 50,
        priorityLevelConfiguration: { name: 'team' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'jane' } }],
            resourceRules: [
              { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
            ],
          },
        ],
      },
    };
    const condition = async (): Promise<unknown> => {
      const { body } = await server.ask('GET', `${flow}/flowschemas/team`);
      const { conditions = [] } = (body['status'] ?? {}) as {
        conditions?: { status: string; reason: string; message: string }[];
      };
      return conditions[0] && [conditions[0].status, conditions[0].reason, conditions[0].message];
    };
    assert.equal((await server.ask('POST', `${flow}/flowschemas`, schema)).status, 201);
    const text = 'This FlowSchema references the PriorityLevelConfiguration object named "team"';
    await eventually(async () =>
      assert.deepEqual(await condition(), ['True', 'NotFound', `${text} but there is no such object`]),
    );
    const limited = { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } };
    const level = { metadata: { name: 'team' }, spec: { type: 'Limited', limited } };
    const created = await server.ask('POST', `${flow}/prioritylevelconfigurations`, level);
    assert.equal(created.status, 201, created.message);
    await eventually(async () =>
      assert.deepEqual(await condition(), ['False', 'Found', `${text} and it exists`]),
    );
  });
});
