// A control plane in process with all controllers under their own RBAC roles, and ways to wait for a state of its objects.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { certificatesigningrequests } from '../../src/api/generated/resources.ts';
import type { CertificateSigningRequest } from '../../src/api/generated/types/certificates-v1.ts';
import { createScheme } from '../../src/api/scheme.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Informer, InformerFactory } from '../../src/client/cache/informer.ts';
import type { Client } from '../../src/client/client.ts';
import { createLogger, silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import type { PaceOptions } from '../../src/controller-runtime/pace.ts';
import type { EvictionRates } from '../../src/controllers/node/zone-state.ts';
import type { AutoscalerSettings } from '../../src/controllers/podautoscaler/decide.ts';
import { startAllControllers } from '../../src/controllers/start-controllers.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { signJwt } from '../../src/crypto/jwt.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import { refusedControllers } from '../harness/refused-controllers.ts';

export interface ControllersCluster {
  readonly server: TestControlPlane;
  readonly client: Client;
  /** Resolves with what `find` returns once that is neither undefined nor false. */
  until<T, R>(
    resource: ResourceRef<T>,
    find: (informer: Informer<T>['lister']) => R | undefined | false,
    what: string,
  ): Promise<R>;
}

const timeoutMs = 15_000;

/** What an administrator does with `kubectl certificate approve`. */
export async function approveByHand(client: Client, request: CertificateSigningRequest): Promise<void> {
  const time = '2026-01-01T00:00:00Z';
  const approved = {
    type: 'Approved',
    status: 'True',
    reason: 'ByHand',
    message: '',
    lastUpdateTime: time,
    lastTransitionTime: time,
  };
  await client.update(
    certificatesigningrequests,
    { ...request, status: { conditions: [approved] } },
    { subresource: 'approval' },
  );
}

export async function startCluster(
  t: TestContext,
  options: {
    readonly nodeMonitorGracePeriodMs?: number;
    readonly nodeEvictions?: Partial<EvictionRates>;
    readonly disabled?: readonly string[];
    readonly pace?: PaceOptions;
    readonly approveKubeletServing?: boolean;
    /** Serves StorageVersionMigrations, and acts on them. */
    readonly storageVersionMigrator?: boolean;
    readonly legacyTokenCleanUpMs?: number;
    readonly loadBalancerRange?: string;
    readonly autoscaling?: Partial<AutoscalerSettings>;
    /** The server's own; controllers have the real one. */
    readonly serverClock?: Clock;
    readonly server?: Parameters<typeof startTestControlPlane>[0];
    /** Before the controllers start. */
    readonly prepare?: (server: TestControlPlane) => Promise<void>;
  } = {},
): Promise<ControllersCluster> {
  const server = await startTestControlPlane({
    approveKubeletServing: options.approveKubeletServing ?? false,
    ...(options.storageVersionMigrator === true ? { scheme: createScheme(() => true) } : {}),
    ...(options.serverClock === undefined ? {} : { clock: options.serverClock }),
    ...options.server,
  });
  await options.prepare?.(server);
  const { controlPlane } = server;
  const ended = new AbortController();
  const log = process.env['CONTROLLERS_LOG'] === undefined ? silentLogger : createLogger({ level: 'debug' });
  const client = controlPlane.clientFor(administrator);
  const clock = systemClock;
  const random = systemRandom;
  const factory: InformerFactory = frozenInformers({
    client: controlPlane.reader,
    clock,
    random,
    log,
    metrics: server.metrics,
    name: 'test',
  });
  const watched = refusedControllers((user) => controlPlane.clientFor(user), log);
  const running = startAllControllers(
    {
      clientFor: watched.clientFor,
      clock,
      random,
      log: watched.log,
      metrics: server.metrics,
      informers: factory,
      signal: ended.signal,
      disabled: options.disabled ?? [],
      ...(options.pace === undefined ? {} : { pace: options.pace }),
    },
    {
      rootCa: { now: () => 'PEM' },
      signers: server.pki.signers,
      signToken: (claims) => signJwt(server.pki.serviceAccountKey, claims),
      clusterCIDRs: ['10.244.0.0/16'],
      ...options,
    },
  );
  t.after(async () => {
    ended.abort(new Error('test is over'));
    await running.done;
    await factory.stop();
    await server.close();
    assert.deepEqual(watched.refusals, [], 'controllers asked for what they may not');
  });
  await running.ready;
  return {
    server,
    client,
    async until(resource, find, what) {
      const informer = factory.informer(resource);
      factory.start();
      await informer.synced();
      return new Promise((resolve, reject) => {
        let remove = (): void => {};
        const stop = clock.timer(timeoutMs, () => {
          remove();
          const last = JSON.stringify(informer.lister.list(), undefined, 1).slice(0, 4000);
          reject(new Error(`waited ${timeoutMs} ms for: ${what}; last seen: ${last}`));
        });
        const check = (): void => {
          const found = find(informer.lister);
          if (found === undefined || found === false) return;
          stop();
          queueMicrotask(() => remove());
          resolve(found as never);
        };
        remove = informer.addHandler({ added: check, updated: check, deleted: check });
        check();
      });
    },
  };
}
