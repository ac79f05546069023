// Service account tokens that another program signs: good, told of, followed when keys change, and refused when it lies.
import assert from 'node:assert/strict';
import { createPublicKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { wholeBody } from '../../src/apiserver/testing/whole-body.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { AuthenticationFlags } from '../../src/cmd/compose/authentication-flags.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { openExternalSigner } from '../../src/cmd/compose/external-signer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';
import {
  type ExternalSignerProgram,
  newSigningKey,
  startExternalSigner,
} from '../harness/external-signer.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const tokenPath = '/api/v1/namespaces/default/serviceaccounts/robot/token';

async function scene(t: TestContext) {
  const scratch = scratchDirectory('signer');
  t.after(() => scratch.remove());
  const socket = join(scratch.path, 'signer.sock');
  const program = await startExternalSigner(socket);
  t.after(() => program.stop());
  const start = (flags: AuthenticationFlags = {}) =>
    startServer({
      dataDir: join(scratch.path, 'server'),
      securePort: 0,
      bindAddress: '127.0.0.1',
      authentication: { serviceAccountSigningEndpoint: socket, ...flags },
      log: silentLogger,
    });
  return { program, start, socket };
}

const publicDer = (pair: KeyObject): Buffer => createPublicKey(pair).export({ type: 'spki', format: 'der' });

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: {
    readonly message: string;
    readonly status: { readonly token: string; readonly userInfo: { readonly username: string } };
    readonly keys: readonly { readonly kid: string; readonly alg: string }[];
  };
}

async function running(
  t: TestContext,
  refreshSeconds = 3600,
): Promise<{
  readonly program: ExternalSignerProgram;
  ask(method: string, url: string, body?: object, token?: string): Promise<Answered>;
  token(): Promise<string>;
}> {
  const { program, start } = await scene(t);
  program.refreshSeconds = refreshSeconds;
  const server = await start({ serviceAccountIssuer: ['https://issuer.example.com'] });
  t.after(() => server.stop());
  const ask = async (method: string, url: string, body: object = {}, token = '') => {
    const bytes = Buffer.from(JSON.stringify(body));
    const answer = await server.controlPlane.handle({
      method,
      url,
      headers: {
        'content-type': 'application/json',
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
      readBody: async () => bytes,
      signal: new AbortController().signal,
      remoteAddress: '192.0.2.7',
      ...(token === '' ? { user: administrator } : {}),
    });
    const text = (await wholeBody(answer.body)).toString();
    return { status: answer.status, body: JSON.parse(text), headers: answer.headers };
  };
  assert.equal(
    (await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })).status,
    201,
  );
  const token = async (): Promise<string> => {
    const { body, status } = await ask('POST', tokenPath, { spec: { expirationSeconds: 1_000_000 } });
    assert.equal(status, 201, JSON.stringify(body));
    return body.status.token;
  };
  return { program, ask, token };
}

const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const claimsOf = (token: string, part: number) =>
  JSON.parse(Buffer.from(token.split('.')[part]!, 'base64url').toString()) as Record<string, number>;

test('a token is signed elsewhere, for as long as its signer allows, and opens this server', async (t) => {
  const { ask, token } = await running(t);
  const first = await token();
  assert.deepEqual(claimsOf(first, 0), { alg: 'ES256', kid: 'first', typ: 'JWT' });
  const { exp, iat } = claimsOf(first, 1);
  assert.equal(exp! - iat!, 86_400);
  const who = await ask('POST', self, {}, first);
  assert.equal(who.body.status.userInfo.username, 'system:serviceaccount:default:robot');
});

test('keys are told of as long as their signer says, but for those that are only believed', async (t) => {
  const { ask, program, token } = await running(t);
  const old = await token();
  program.keys.get('first')!.hidden = true;
  program.keys.set('second', newSigningKey());
  program.signing = 'second';
  const next = await token();
  // Nobody here knew its key.
  assert.equal((await ask('POST', self, {}, next)).status, 201);
  assert.equal((await ask('POST', self, {}, old)).status, 201);
  const jwks = await ask('GET', '/openid/v1/jwks');
  assert.deepEqual(
    jwks.body.keys.map(({ kid, alg }) => [kid, alg]),
    [['second', 'ES256']],
  );
  assert.match(String(jwks.headers['cache-control']), /^public, max-age=3(600|59\d)$/);
  // A key that is gone opens nothing, whoever used it before.
  program.keys.delete('first');
  program.keys.set('third', newSigningKey());
  program.signing = 'third';
  assert.equal((await ask('POST', self, {}, await token())).status, 201);
  assert.equal((await ask('POST', self, {}, old)).status, 401);
});

test('who makes up keys has them fetched: nothing is forgotten while they are the same, and failures are told in a line', async (t) => {
  const { program, socket } = await scene(t);
  const told: unknown[] = [];
  const log = {
    ...silentLogger,
    error: (fields: object) => void told.push((fields as { error: unknown }).error),
  };
  const { keys, close } = await openExternalSigner(socket, undefined, {
    clock: systemClock,
    log,
  });
  t.after(close);
  const first = keys.now();
  await keys.lookAgain!();
  assert.equal(keys.now(), first);
  program.keys.get('first')!.hidden = true;
  await keys.lookAgain!();
  assert.notEqual(keys.now(), first);
  program.told = () => [];
  await keys.lookAgain!();
  assert.deepEqual(told, ['while fetching token verification keys: found no keys']);
});

test('keys are fetched again when their signer says', async (t) => {
  const { program } = await running(t, 1);
  await eventually(() => assert.ok(program.calls.fetch > 1));
});

test('a signer that lies is told of in the words of upstream', async (t) => {
  const { ask, program } = await running(t);
  const failing = async (message: RegExp): Promise<void> => {
    const { status, body } = await ask('POST', tokenPath);
    assert.equal(status, 500);
    assert.match(body.message, message);
  };
  const json = (value: object) => () => Buffer.from(JSON.stringify(value)).toString('base64url');
  const usual = { alg: 'ES256', kid: 'first', typ: 'JWT' };
  const rows: [object, RegExp][] = [
    [{ ...usual, typ: 'JWS' }, /^failed to generate token: while validating header: bad type$/],
    [{ ...usual, kid: '' }, /key id missing$/],
    [{ ...usual, kid: 'x'.repeat(1025) }, /key id longer than 1 kb$/],
    [{ ...usual, alg: 'none' }, /bad signing algorithm "none"$/],
    [{ ...usual, jku: 'https://elsewhere' }, /while parsing header JSON: json: unknown field "jku"$/],
  ];
  for (const [header, message] of rows) {
    program.header = json(header);
    await failing(message);
  }
  program.header = () => '!';
  await failing(/while unwrapping header: illegal base64 data/);
  program.header = undefined;
  program.signature = () => '';
  await failing(/^failed to generate token: empty signature returned$/);
  program.signature = () => {
    throw new Error('no');
  };
  await failing(/while signing jwt: rpc error: code = Unknown desc = no$/);
  program.signature = undefined;
  program.keys.get('first')!.hidden = true;
  program.keys.set('second', newSigningKey());
  program.header = json({ ...usual, kid: 'second' });
  await ask('POST', tokenPath);
  program.header = undefined;
  await failing(/key used for signing JWT \(kid: first\) is excluded from OIDC discovery docs$/);
});

test('a signer that can not be used ends the start', async (t) => {
  const { program, start, socket } = await scene(t);
  const refused = (message: string, flags: AuthenticationFlags = {}): Promise<void> =>
    assert.rejects(start(flags), { message });
  const fetching =
    'while setting up external-jwt-signer: while initially filling key cache: while performing initial cache fill: while fetching token verification keys: ';
  program.longestSeconds = 300;
  await refused('max token life supported by external-jwt-signer (300s) is less than acceptable (min 600s)');
  program.longestSeconds = 600;
  await refused(
    'service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: 1h0m0s > 10m0s',
    { serviceAccountMaxTokenExpiration: 3_600_000 },
  );
  program.told = () => [];
  await refused(`${fetching}found no keys`);
  program.told = ([key]) => [{ ...key, key_id: '' }];
  await refused(`${fetching}found invalid public key id ""`);
  program.told = ([key]) => [{ ...key, key: Buffer.alloc(0) }];
  await refused(`${fetching}found empty public key`);
  program.told = undefined;
  program.refreshSeconds = 0;
  await refused(`${fetching}found invalid refresh hint (0s)`);
  await refused(
    "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)",
    { serviceAccountSigningKeyFile: socket },
  );
  await refused(
    'invalid value "abc" passed for `--service-account-signing-endpoint`, should be a valid location on the filesystem or must be prefixed with @ to name UDS in abstract namespace',
    { serviceAccountSigningEndpoint: 'abc' },
  );
});

/** Time passes also while somebody sleeps, but nobody waits for it. */
function hastyClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  const passed = (): number => slept.reduce((all, ms) => all + ms, 0);
  return {
    slept,
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() + passed(),
    sleep: async (ms) => void slept.push(ms),
    timer: (ms, run) => systemClock.timer(ms, run),
  };
}

async function opened(t: TestContext) {
  const { program, socket } = await scene(t);
  const clock = hastyClock();
  const signer = await openExternalSigner(socket, undefined, { clock, log: silentLogger });
  t.after(() => signer.close());
  return { program, clock, keys: signer.keys };
}

test('keys that are told again are those that were read before, in whatever order: what tokens were believed by them stays', async (t) => {
  const { program, keys } = await opened(t);
  program.keys.set('second', newSigningKey());
  await keys.lookAgain!();
  const first = keys.now();
  program.told = (told) => told.toReversed();
  await keys.lookAgain!();
  assert.equal(program.calls.fetch, 3);
  assert.equal(keys.now(), first);
  program.told = (told) => [told[0]!, told[0]!];
  await keys.lookAgain!();
  assert.deepEqual(
    keys.now().map(({ kid }) => kid),
    ['first'],
  );
  program.told = (told) => [{ ...told[0]!, exclude_from_oidc_discovery: true }];
  await keys.lookAgain!();
  assert.equal(keys.now()[0]!.isHidden, true);
});

test('several keys of one name are all believed', async (t) => {
  const { program, ask, token } = await running(t);
  const old = await token();
  const before = { key_id: 'first', key: publicDer(program.keys.get('first')!.pair) };
  program.keys.set('first', newSigningKey());
  program.told = (told) => [...told, { ...before, exclude_from_oidc_discovery: false }];
  program.keys.set('second', newSigningKey());
  program.signing = 'second';
  // Nobody knew that one: all are fetched again.
  assert.equal((await ask('POST', self, {}, await token())).status, 201);
  program.signing = 'first';
  assert.equal((await ask('POST', self, {}, await token())).status, 201);
  assert.equal((await ask('POST', self, {}, old)).status, 201);
});

test('many keys are read in turns, and nobody who names one that is none has them read without a rest', async (t) => {
  const { program, clock, keys } = await opened(t);
  const told = Array.from({ length: 2_000 }, (_, i) => ({
    key_id: `key-${i}`,
    key: publicDer(newSigningKey().pair),
  }));
  program.told = () => told;
  let turns = 0;
  const over = new AbortController();
  const turn = (): void => {
    turns++;
    if (!over.signal.aborted) setImmediate(turn);
  };
  turn();
  await keys.lookAgain!();
  over.abort();
  assert.equal(keys.now().length, 2_000);
  assert.ok(turns > 50, `${turns}`);
  clock.slept.length = 0;
  await Promise.all([keys.lookAgain!(), keys.lookAgain!()]);
  assert.notEqual(clock.slept.length, 0);
  assert.equal(program.calls.fetch, 3);
});
