// A control plane in process with controllers and a scheduler of its own rights, and a namespace to work in.
import type { TestContext } from 'node:test';
import { namespaces, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { InformerFactory } from '../../src/client/cache/informer.ts';
import { createEventRecorder, type EventRecorder } from '../../src/client/event-recorder.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom as random } from '../../src/component-base/system-random.ts';
import { readSchedulerConfiguration } from '../../src/scheduler/config/scheduler-configuration.ts';
import type { AskExtender } from '../../src/scheduler/extender.ts';
import type { Plugin } from '../../src/scheduler/framework/plugin.ts';
import { startScheduler } from '../../src/scheduler/scheduler.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

export interface SchedulerCluster extends ControllersCluster {
  readonly informers: InformerFactory;
  /** What it logged as an error. */
  readonly errors: readonly string[];
  /** Ends the scheduler and starts it again over the same informers, as a process does that leads again. */
  again(): void;
}

export interface SchedulerClusterOptions {
  readonly namespace: string;
  readonly extraPlugins?: readonly Plugin[];
  /** A KubeSchedulerConfiguration. */
  readonly configuration?: object;
  /** Answers for all extenders. */
  readonly extender?: AskExtender;
  /** The scheduler's own; all else has the real one. */
  readonly clock?: Clock;
}

export async function startSchedulerCluster(
  t: TestContext,
  { namespace, clock = systemClock, configuration, extender, extraPlugins = [] }: SchedulerClusterOptions,
): Promise<SchedulerCluster> {
  const cluster = await startCluster(t);
  const { client, server } = cluster;
  const own = server.controlPlane.clientFor({
    name: 'system:kube-scheduler',
    groups: ['system:authenticated'],
  });
  const errors: string[] = [];
  const log = {
    ...silentLogger,
    error: (fields: object, message: string) => void errors.push(`${message} ${JSON.stringify(fields)}`),
  };
  const informers = frozenInformers({ client: server.controlPlane.reader, clock: systemClock, random, log });
  const about = { client: own, clock: systemClock, log };
  const eventsOf = (component: string): EventRecorder => createEventRecorder(about, { component });
  const options = {
    client: own,
    informers,
    events: eventsOf('default-scheduler'),
    eventsOf,
    clock,
    random,
    log,
    metrics: server.metrics,
    extraPlugins,
    ...(configuration === undefined ? {} : { configuration: readSchedulerConfiguration(configuration) }),
    ...(extender === undefined ? {} : { extenderClient: () => extender }),
  };
  let scheduler = startScheduler(options);
  informers.start();
  t.after(async () => {
    scheduler.stop();
    await informers.stop();
  });
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await client.create(serviceaccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
  return {
    ...cluster,
    informers,
    errors,
    again() {
      scheduler.stop();
      scheduler = startScheduler(options);
    },
  };
}
