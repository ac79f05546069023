// As whom webhooks are asked: names of servers, stars, files that are read again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { loadWebhookCredentials, userNamesFor } from './webhook-credentials.ts';

const files: Record<string, string> = {};
const readFile = async (path: string): Promise<Buffer> => {
  const text = files[path];
  if (text === undefined) throw new Error('ENOENT');
  return Buffer.from(text);
};
const configOf = (users: Record<string, object>, more: object = {}): void => {
  files['/conf/hooks'] = JSON.stringify({
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
    ...more,
  });
};
const credentials = (clock = new FakeClock()) => loadWebhookCredentials('/conf/hooks', readFile, clock);
const bearer = (token: string): object => ({ headers: { authorization: `Bearer ${token}` } });

test('the names of a server, the closest first; the port of HTTPS need not be said', () => {
  assert.deepEqual(
    [...userNamesFor('hook.ns.svc:443')],
    [...['hook.ns.svc:443', '*.ns.svc:443', '*.svc:443'], ...['hook.ns.svc', '*.ns.svc', '*.svc'], '*'],
  );
  assert.deepEqual(
    [...userNamesFor('hook.ns.svc:8443')],
    ['hook.ns.svc:8443', '*.ns.svc:8443', '*.svc:8443', '*'],
  );
  assert.deepEqual([...userNamesFor('[::1]:443')], ['[::1]:443', '::1', '*']);
});

test('a server is shown its own user, then what a star names, then that of the context', async () => {
  configOf({
    'a.ns.svc': { token: 'a' },
    'a.ns.svc:8443': { token: 'a-8443' },
    '*.ns.svc': { token: 'ns' },
    'example.com:444': { username: 'u', password: 'p:w' },
    mine: { token: 'mine' },
  });
  const find = await credentials();
  assert.deepEqual(await find('a.ns.svc:443'), bearer('a'));
  assert.deepEqual(await find('a.ns.svc:8443'), bearer('a-8443'));
  assert.deepEqual(await find('b.ns.svc:443'), bearer('ns'));
  assert.equal(await find('b.ns.svc:8443'), undefined);
  assert.equal(await find('b.other.svc:443'), undefined);
  assert.deepEqual(await find('example.com:444'), { headers: { authorization: 'Basic dTpwOnc=' } });
  assert.equal(await find('example.com:443'), undefined);
  configOf(
    { mine: { token: 'mine' } },
    { 'current-context': 'c', contexts: [{ name: 'c', context: { user: 'mine' } }] },
  );
  assert.deepEqual(await (await credentials())('anybody:1'), bearer('mine'));
  configOf({ '*': { token: 'all' }, mine: { token: 'mine' } });
  assert.deepEqual(await (await credentials())('anybody:1'), bearer('all'));
});

test('files are read again after a minute; one that is away for a while changes nothing', async () => {
  files['/conf/token'] = 'one\n';
  files['/conf/cert'] = 'cert';
  files['/conf/key'] = 'key';
  configOf({ '*': { tokenFile: 'token', 'client-certificate': 'cert', 'client-key': '/conf/key' } });
  const clock = new FakeClock();
  const find = await credentials(clock);
  const client = { certificate: 'cert', key: 'key' };
  assert.deepEqual(await find('x:443'), { ...bearer('one'), client });
  files['/conf/token'] = 'two';
  assert.deepEqual(await find('x:443'), { ...bearer('one'), client });
  clock.advance(60_001);
  assert.deepEqual(await find('x:443'), { ...bearer('two'), client });
  delete files['/conf/cert'];
  clock.advance(60_001);
  assert.deepEqual(await find('x:443'), { ...bearer('two'), client });
});

test('what cannot be followed is told: at once, or when its server is asked', async () => {
  for (const [user, why] of [
    [{ exec: { command: 'x' } }, /^KubeconfigError: exec is not supported here$/],
    [{ 'auth-provider': { name: 'x' } }, /^KubeconfigError: auth provider not supported$/],
    [{ as: 'root' }, /^KubeconfigError: impersonation is not supported here$/],
  ] as const) {
    // A user that no webhook is asked as stops nobody.
    configOf({ unused: user, 'x:1': user, 'x:2': { token: 't' } });
    const find = await credentials();
    assert.deepEqual(await find('x:2'), bearer('t'));
    await assert.rejects(find('x:1'), why);
  }
  const twice = { name: 'u', user: { token: 't' } };
  files['/conf/hooks'] = JSON.stringify({ users: [twice, { name: 'v' }, twice] });
  await assert.rejects(credentials(), /duplicate name "u" in list$/);
  files['/conf/hooks'] = '[]';
  await assert.rejects(credentials(), /not a mapping/);
  configOf({ '*': { tokenFile: 'none' }, both: { token: 't', username: 'u' } });
  const find = await credentials();
  await assert.rejects(find('x:443'), /unable to read tokenFile none/);
  await assert.rejects(find('both'), /username\/password or bearer token may be set, but not both/);
  configOf({ constructor: { token: 'c' } });
  assert.equal(await (await credentials())('toString:443'), undefined);
});
