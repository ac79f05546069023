// Whole servers on one store: of two, one runs the scheduler; what ends gives its lease back, what starts again has its name.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { leases, storageclasses } from '../../src/api/generated/resources.ts';
import type { LeaseSpec } from '../../src/api/generated/types/coordination-v1.ts';
import type { InformerFactory } from '../../src/client/cache/informer.ts';
import { type RunningServer, startServer } from '../../src/cmd/compose/compose-server.ts';
import { elected } from '../../src/cmd/compose/elected.ts';
import type { ServerComponent } from '../../src/cmd/compose/run-components.ts';
import { controllersComponent } from '../../src/cmd/compose/server-components.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { loopbackUser } from '../../src/controlplane/control-plane.ts';
import { MemoryStorage } from '../../src/storage/memory/memory-storage.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { LaggingStorage } from '../../src/storage/testing/lagging-storage.ts';

/** A store that outlives the servers which use it. */
function sharedStore(): () => Storage {
  const store = new MemoryStorage(systemClock);
  store.close = async () => {};
  return () => new LaggingStorage(store);
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'porthole-elected-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Says when it works, and when it has ended. */
class Part implements ServerComponent {
  readonly name = 'scheduler';
  readonly #begun = Promise.withResolvers<void>();
  readonly begun: Promise<void> = this.#begun.promise;
  isWorking = false;

  async start({ clientFor, signal }: Parameters<ServerComponent['start']>[0]) {
    this.isWorking = true;
    const done = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())).then(
      () => {
        this.isWorking = false;
      },
    );
    await clientFor(loopbackUser).get(leases, lease);
    this.#begun.resolve();
    return { done };
  }
}

const lease = { namespace: 'kube-system', name: 'kube-scheduler' };
const specOf = async ({ controlPlane }: RunningServer): Promise<LeaseSpec | undefined> =>
  (await controlPlane.clientFor(loopbackUser).get(leases, lease)).spec;

/** It is stopped once, at the end of the test at the latest. */
async function start(
  t: TestContext,
  dataDir: string,
  storage: Storage | undefined,
  part: Part | undefined,
): Promise<RunningServer> {
  const server = await startServer({
    dataDir,
    securePort: 0,
    components: part === undefined ? [] : [elected(part, 'kube-scheduler')],
    log: silentLogger,
    ...(storage === undefined ? {} : { storage }),
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= server.stop();
    return stopping;
  };
  t.after(stop);
  return { ...server, stop };
}

test('of two servers one leads; the other is ready, and leads when the first has ended', async (t) => {
  const store = sharedStore();
  const [one, two] = [new Part(), new Part()];
  const folders = [folder(t), folder(t)] as const;
  const first = await start(t, folders[0], store(), one);
  await first.ready;
  assert.ok(one.isWorking);
  const identity = readFileSync(join(folders[0], 'identity'), 'utf8').trim();
  assert.equal((await specOf(first))?.holderIdentity, identity);
  const second = await start(t, folders[1], store(), two);
  await second.ready;
  assert.ok(!two.isWorking);
  await first.stop();
  assert.ok(!one.isWorking);
  await two.begun;
  assert.equal((await specOf(second))?.leaseTransitions, 1);
  await second.stop();
});

test('a server that is started again leads at once, also when its process was killed', async (t) => {
  const dataDir = folder(t);
  const first = await start(t, dataDir, undefined, new Part());
  await first.ready;
  const held = await specOf(first);
  assert.ok(held?.holderIdentity);
  await first.stop();
  const between = await start(t, dataDir, undefined, undefined);
  const client = between.controlPlane.clientFor(loopbackUser);
  const given = await client.get(leases, lease);
  assert.equal(given.spec?.holderIdentity, '');
  // As kill -9 leaves it, with much time.
  await client.update(leases, { ...given, spec: { ...held, leaseDurationSeconds: 3_600 } });
  await between.stop();
  const part = new Part();
  const again = await start(t, dataDir, undefined, part);
  await again.ready;
  assert.ok(part.isWorking);
  assert.equal((await specOf(again))?.leaseTransitions, 0);
  await again.stop();
});

/** How many handlers of controllers hear of changes. */
function counted(informers: InformerFactory): { readonly informers: InformerFactory; handlers(): number } {
  let handlers = 0;
  return {
    handlers: () => handlers,
    informers: {
      ...informers,
      start: () => informers.start(),
      informer: (...args) => {
        const informer = informers.informer(...args);
        const addHandler: typeof informer.addHandler = (handler) => {
          const remove = informer.addHandler(handler);
          handlers++;
          return () => {
            remove();
            handlers--;
          };
        };
        return new Proxy(informer, {
          get: (target, name) =>
            name === 'addHandler'
              ? addHandler
              : typeof target[name as keyof typeof target] === 'function'
                ? (target[name as 'synced'] as () => unknown).bind(target)
                : target[name as keyof typeof target],
        });
      },
    },
  };
}

test('controllers that can not start have ended when that is told: others may begin at once', async (t) => {
  const controllers = controllersComponent({
    clusterCidrs: ['10.244.0.0/16'],
    volumesDir: '/var/lib/volumes',
  });
  const left: number[] = [];
  const most: number[] = [];
  const watched: ServerComponent = {
    name: controllers.name,
    async start(context) {
      const { handlers, informers } = counted(context.informers);
      const clientFor: typeof context.clientFor = (...args) => {
        const client = context.clientFor(...args);
        const create: typeof client.create = (resource, ...rest) => {
          if (resource.resource !== storageclasses.resource) return client.create(resource, ...rest);
          most.push(handlers());
          return Promise.reject(new Error('no storage class'));
        };
        return { ...client, create };
      };
      return controllers.start({ ...context, informers, clientFor }).finally(() => left.push(handlers()));
    },
  };
  const server = await startServer({
    dataDir: folder(t),
    securePort: 0,
    components: [elected(watched, 'kube-controller-manager')],
    log: silentLogger,
    storage: new MemoryStorage(systemClock),
  });
  t.after(() => server.stop());
  await assert.rejects(server.ready, /no storage class/);
  assert.ok(most[0]! > 0, 'they worked');
  assert.deepEqual(left, [0]);
});
