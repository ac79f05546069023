// A thousand creates a second meet a webhook that is slow or lies: each is answered, others go on, and nothing of it is left.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const seconds = Number(process.env.PORTHOLE_FLOOD_SECONDS ?? 1);
const perSecond = 1_000;
const burst = 20;
/** Of each create, so that those who wait have something to hold. */
const data = { text: 'x'.repeat(2_000) };
const megabyte = 1_000_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

let plane: TestControlPlane;
let webhook: ChildProcess;
let told = '';
let url = '';
let caBundle = '';

before(async () => {
  plane = await startTestControlPlane();
  const program = fileURLToPath(new URL('programs/lying-webhook.ts', import.meta.url));
  webhook = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(webhook.stdout!, 'data')) as [Buffer];
  ({ url, caBundle } = JSON.parse(line.toString()) as { url: string; caBundle: string });
  webhook.stdout!.on('data', (more: Buffer) => {
    told += more.toString();
  });
});
after(async () => {
  webhook.kill('SIGKILL');
  await plane.close();
});

/** Sockets of this process: those to the webhook are all there are. */
const sockets = (): number =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;

const heldMb = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / megabyte;
};

async function configure(path: string, timeoutSeconds: number): Promise<void> {
  const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  await plane.ask('DELETE', `${configurations}/flood`);
  const hook = {
    name: 'flood.example.com',
    clientConfig: { url: `${url}${path}`, caBundle },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds,
  };
  const made = await plane.ask('POST', configurations, { metadata: { name: 'flood' }, webhooks: [hook] });
  assert.equal(made.status, 201, made.text);
}

interface Flooded {
  readonly answers: ReadonlyMap<string, number>;
  readonly mostSockets: number;
  readonly mostMb: number;
  /** How many of the flood were answered while something waited that has nothing to do with the webhook. */
  readonly others: readonly number[];
}

/** All creates as the administrator, whom no limit of users holds back. */
async function flood(): Promise<Flooded> {
  const answers = new Map<string, number>();
  let answered = 0;
  const count = ({ status, message }: Answer): void => {
    answered++;
    const what = `${status} ${message.replace(/^.*: /, '')}`;
    answers.set(what, (answers.get(what) ?? 0) + 1);
  };
  let [flooding, mostSockets, mostMb] = [true, 0, 0];
  const others: number[] = [];
  const beside = (async () => {
    for (let i = 0; flooding; i++) {
      const before = answered;
      const metadata = { name: `beside-${i}` };
      const made = await plane.ask('POST', '/api/v1/namespaces/default/secrets?dryRun=All', { metadata });
      assert.equal(made.status, 201, made.text);
      assert.equal((await plane.ask('GET', '/api/v1/namespaces/default')).status, 200);
      others.push(answered - before);
      mostSockets = Math.max(mostSockets, sockets());
      mostMb = Math.max(mostMb, heldMb());
      await delay(10);
    }
  })();
  const asked: Promise<void>[] = [];
  const total = seconds * perSecond;
  for (const from = performance.now(); asked.length < total; ) {
    for (let i = 0; i < burst; i++) {
      const metadata = { generateName: 'flood-' };
      const create = plane.ask('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', {
        metadata,
        data,
      });
      asked.push(create.then(count));
    }
    await delay(Math.max(0, (asked.length / perSecond) * 1_000 - (performance.now() - from)));
  }
  await Promise.all(asked);
  flooding = false;
  await beside;
  return { answers, mostSockets, mostMb, others };
}

const median = (all: readonly number[]): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]!;

/** `fits`: how each may end. */
async function withstand(path: string, timeoutSeconds: number, fits: RegExp): Promise<Flooded> {
  await configure(path, timeoutSeconds);
  const floodedBefore = sockets();
  // Once for code that is compiled, buffers that are kept, sessions of TLS.
  await plane.ask('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', {
    metadata: { name: 'warm' },
    data,
  });
  collect();
  const mb = heldMb();
  const flooded = await flood();
  const { answers, mostSockets, mostMb, others } = flooded;
  const ends = [...answers.keys()];
  assert.ok(
    ends.every((end) => fits.test(end)),
    ends.join('\n'),
  );
  const sum = [...answers.values()].reduce((all, one) => all + one, 0);
  assert.equal(sum, seconds * perSecond);
  // 32 of one webhook, and those that were closed and are not gone yet.
  assert.ok(mostSockets - floodedBefore <= 2 * 32, `${mostSockets} sockets`);
  assert.ok(mostMb - mb < 300, `${mostMb} MB, ${mb} before`);
  // Less than what comes in a tenth of a second: who waits behind the webhook waits for its timeout.
  assert.ok(
    others.length > 10 && median(others) < perSecond / 10,
    `${others.length}, ${median(others)} of them`,
  );
  await eventually(async () => {
    assert.ok(sockets() - floodedBefore <= 8, `${sockets()} sockets`);
    collect();
    assert.ok(heldMb() - mb < 25, `${heldMb()} MB, ${mb} before`);
  });
  return flooded;
}

test('a webhook that takes two seconds', async (t) => {
  const { answers, others } = await withstand('/slow', 3, /^201 $|^500 context deadline exceeded$/);
  // Some have had a connection, and more have waited for one in vain.
  assert.equal(answers.size, 2);
  t.diagnostic(`${JSON.stringify([...answers])}; others met ${median(others)}`);
});

for (const [path, fault] of [
  ['/endless', /^500 http: response body too large|^500 the limit is/],
  ['/half', /^500 (EOF|aborted|unexpected EOF)$/],
  ['/redirect', /^500 the server responded with the status code 307/],
  ['/open', /^500 context deadline exceeded$/],
] as const)
  test(`a webhook that answers ${path}`, async (t) => {
    const fits = new RegExp(`${fault.source}|^500 context deadline exceeded$`);
    const { answers, others, mostMb } = await withstand(path, 1, fits);
    t.diagnostic(`${JSON.stringify([...answers])}; others met ${median(others)}, most ${mostMb} MB`);
    assert.equal(told, '', 'a redirect was followed');
  });
