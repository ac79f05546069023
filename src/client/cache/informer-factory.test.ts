// Informers against a scripted server: gaps, 410, reconnects, replays.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { configmaps } from '../../api/generated/resources.ts';
import type { ConfigMap } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { ConnectionError } from '../../wire/http2-client.ts';
import { createClient } from '../create-client.ts';
import type { Transport } from '../transport.ts';
import type { InformerFactory } from './informer.ts';
import { createInformerFactory } from './informer-factory.ts';
import { deepFreeze, dropManagedFields } from './shared-informer.ts';

/** Time that jumps: every sleep is over at once, and is remembered. */
function jumpingClock(): Clock & { slept: number[] } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    monotonic: () => now,
    async sleep(ms, signal) {
      slept.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
    timer: () => () => {},
  };
}
const random = { uint: () => 0, fraction: () => 0, uuid: () => 'u' };
const map = (name: string, resourceVersion: string, uid = `uid-${name}`, data = {}): ConfigMap => ({
  metadata: { name, namespace: 'n', resourceVersion, uid },
  data,
});
const list = (resourceVersion: string, ...items: ConfigMap[]): string =>
  JSON.stringify({ metadata: { resourceVersion }, items });
const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (5)' };

interface Step {
  readonly expect: RegExp;
  readonly status?: number;
  readonly body: string;
  /** Break the connection after the body, instead of a clean end. */
  readonly breaks?: boolean;
  readonly last?: boolean;
  /** Instead of an answer. */
  readonly fails?: Error;
}

/** Answers the steps in order; after the last a watch stays open. */
function scripted(steps: Step[]): { transport: Transport; requests: string[]; done: Promise<void> } {
  const requests: string[] = [];
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const transport: Transport = {
    async request(request) {
      requests.push(request.path);
      const step = steps.shift();
      if (step === undefined || steps.length === 0) setImmediate(finish);
      if (step !== undefined && !step.expect.test(request.path))
        throw new Error(`unexpected ${request.path}, wanted ${step.expect}`);
      if (step?.fails !== undefined) throw step.fails;
      return {
        status: step?.status ?? 200,
        headers: {},
        body: (async function* () {
          if (step !== undefined) yield Buffer.from(step.body);
          if (step?.breaks === true) throw new Error('connection reset');
          if (step === undefined)
            await new Promise<void>((resolve) => request.signal?.addEventListener('abort', () => resolve()));
        })(),
      };
    },
    async close() {},
  };
  return { transport, requests, done };
}

function start(t: TestContext, steps: Step[]) {
  const clock = jumpingClock();
  const server = scripted(steps);
  const factory: InformerFactory = createInformerFactory(
    { client: createClient(server.transport), clock, random, log: silentLogger },
    { freeze: deepFreeze },
  );
  const informer = factory.informer(configmaps);
  const seen: string[] = [];
  informer.addIndex('byData', (object) => Object.keys(object.data ?? {}));
  informer.addHandler({
    added: (o) => seen.push(`+${o.metadata.name}@${o.metadata.resourceVersion}`),
    updated: (old, o) =>
      seen.push(`~${o.metadata.name}@${old.metadata.resourceVersion}>${o.metadata.resourceVersion}`),
    deleted: (o) => seen.push(`-${o.metadata.name}@${o.metadata.resourceVersion}`),
  });
  factory.start();
  t.after(() => factory.stop());
  return { ...server, factory, informer, seen, clock };
}

const isList = /configmaps\?limit=5000$/;
const watchFrom = (rv: string): RegExp => new RegExp(`watch=true.*resourceVersion=${rv}&`);

describe('createInformerFactory', () => {
  it('lists, then watches from the list, and resumes from the last event', async (t) => {
    const { done, seen, informer } = start(t, [
      { expect: isList, body: list('1', map('a', '1')) },
      { expect: watchFrom('1'), body: event('ADDED', map('b', '2')) + event('MODIFIED', map('a', '3')) },
      { expect: watchFrom('3'), body: event('DELETED', map('b', '4')) },
      { expect: watchFrom('4'), body: event('BOOKMARK', { metadata: { resourceVersion: '9' } }) },
      { expect: watchFrom('9'), body: '' },
    ]);
    await done;
    assert.deepEqual(seen, ['+a@1', '+b@2', '~a@1>3', '-b@4']);
    assert.deepEqual(
      informer.lister.list('n').map((o) => o.metadata.name),
      ['a'],
    );
  });

  it('reads the list again after 410 and tells the difference', async (t) => {
    const { done, seen } = start(t, [
      { expect: isList, body: list('1', map('a', '1'), map('b', '1'), map('c', '1')) },
      { expect: watchFrom('1'), body: event('ERROR', expired) },
      {
        expect: isList,
        body: list('7', map('a', '1'), map('b', '6'), map('d', '7'), map('c', '5', 'other')),
      },
      { expect: watchFrom('7'), status: 410, body: JSON.stringify(expired) },
      {
        expect: isList,
        body: list('8', map('a', '1'), map('b', '6'), map('d', '7'), map('c', '5', 'other')),
      },
      { expect: watchFrom('8'), body: '' },
    ]);
    await done;
    assert.deepEqual(seen, ['+a@1', '+b@1', '+c@1', '~b@1>6', '+d@7', '-c@1', '+c@5']);
  });

  it('resumes where it was when the connection breaks in an event', async (t) => {
    const { done, seen, clock } = start(t, [
      { expect: isList, status: 503, body: 'starting' },
      { expect: isList, body: list('1') },
      { expect: watchFrom('1'), body: `${event('ADDED', map('a', '2'))}{"type":"ADD`, breaks: true },
      { expect: watchFrom('2'), body: event('ADDED', map('b', '3')) },
      { expect: watchFrom('3'), body: '' },
    ]);
    await done;
    assert.deepEqual(seen, ['+a@2', '+b@3']);
    assert.deepEqual(clock.slept.slice(0, 2), [800, 1600]);
  });

  it('asks a server that does not listen yet again soon, and one that fails later', async (t) => {
    const refused = new ConnectionError('ECONNREFUSED', 'connect ECONNREFUSED');
    const { done, clock } = start(t, [
      { expect: isList, fails: refused, body: '' },
      { expect: isList, fails: refused, body: '' },
      { expect: isList, status: 503, body: 'busy' },
      { expect: isList, body: list('1') },
      { expect: watchFrom('1'), body: '' },
    ]);
    await done;
    assert.deepEqual(clock.slept.slice(0, 3), [25, 50, 800]);
  });

  it('puts pages together before it shows them', async (t) => {
    const { done, informer } = start(t, [
      {
        expect: isList,
        body: JSON.stringify({ metadata: { resourceVersion: '4', continue: 'tok' }, items: [map('a', '1')] }),
      },
      { expect: /continue=tok/, body: list('4', map('b', '2')) },
      { expect: watchFrom('4'), body: '' },
    ]);
    await informer.synced();
    assert.equal(informer.lister.list().length, 2);
    await done;
  });

  it('replays what is known to a handler that comes late, and shares one informer', async (t) => {
    const { done, factory, informer } = start(t, [
      { expect: isList, body: list('1', map('a', '1', 'u', { x: '1' })) },
      { expect: watchFrom('1'), body: event('MODIFIED', map('a', '2', 'u', { y: '1' })) },
      { expect: watchFrom('2'), body: '' },
    ]);
    await done;
    assert.equal(factory.informer(configmaps), informer);
    const late: string[] = [];
    informer.addHandler({ added: (o) => late.push(o.metadata.name) });
    assert.deepEqual(late, ['a']);
    assert.deepEqual(
      [informer.lister.byIndex('byData', 'x').length, informer.lister.byIndex('byData', 'y').length],
      [0, 1],
    );
  });

  it('goes on when one handler throws, and hands out frozen objects', async (t) => {
    const { informer, seen } = start(t, [
      { expect: isList, body: list('1', map('a', '1')) },
      { expect: watchFrom('1'), body: '' },
    ]);
    informer.addHandler({
      added: () => {
        throw new Error('bug');
      },
    });
    await informer.synced();
    assert.deepEqual(seen, ['+a@1']);
    assert.throws(() => {
      informer.lister.get('a', 'n')!.metadata.name = 'b';
    }, TypeError);
  });

  it('trims objects before anyone sees them, listed and watched ones', async (t) => {
    const owned = (name: string, version: string): ConfigMap => ({
      ...map(name, version),
      metadata: { ...map(name, version).metadata, managedFields: [{ manager: 'kubectl' }] },
    });
    const { transport, done } = scripted([
      { expect: isList, body: list('1', owned('a', '1')) },
      { expect: watchFrom('1'), body: event('ADDED', owned('b', '2')) },
      { expect: watchFrom('2'), body: '', last: true },
    ]);
    const factory = createInformerFactory(
      { client: createClient(transport), clock: jumpingClock(), random, log: silentLogger },
      { trim: dropManagedFields, freeze: deepFreeze },
    );
    t.after(() => factory.stop());
    const seen: ConfigMap[] = [];
    factory.informer(configmaps).addHandler({ added: (object) => seen.push(object) });
    factory.start();
    await done;
    assert.equal(JSON.stringify(seen), JSON.stringify([map('a', '1'), map('b', '2')]));
  });
});
