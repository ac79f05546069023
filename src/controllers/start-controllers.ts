// Starts all controllers, each as its own service account, over one set of informers.
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { InformerFactory } from '../client/cache/informer.ts';
import { createInformerFactory } from '../client/cache/informer-factory.ts';
import type { Client } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import type { PaceOptions } from '../controller-runtime/pace.ts';
import { type RunningControllers, startControllers } from '../controller-runtime/start-controllers.ts';
import { allControllers, type ControllersConfig } from './registry.ts';

export interface ControllerUser {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface StartControllersDeps {
  /** A client that acts as this user. */
  clientFor(user: ControllerUser): Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Shared with others of the process (the scheduler); made here when absent. */
  readonly informers?: InformerFactory;
  readonly metrics: MetricsRegistry;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** How many pods are made for one namespace. */
  readonly pace?: PaceOptions;
  /** Leaves out controllers by name. */
  readonly disabled?: readonly string[];
}

/** Who reads for all: it may list and watch everything. */
const controllerManagerUser: ControllerUser = {
  name: 'system:kube-controller-manager',
  groups: ['system:authenticated'],
};

const controllerUser = (serviceAccount: string): ControllerUser => ({
  name: `system:serviceaccount:kube-system:${serviceAccount}`,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
});

export function startAllControllers(
  deps: StartControllersDeps,
  config: ControllersConfig,
): RunningControllers {
  const { clock, random, log, signal, metrics } = deps;
  const ownInformers =
    deps.informers === undefined
      ? createInformerFactory({ client: deps.clientFor(controllerManagerUser), clock, random, log })
      : undefined;
  const informers = deps.informers ?? ownInformers!;
  const list = allControllers(config).filter(({ name }) => !(deps.disabled ?? []).includes(name));
  const running = startControllers(list, {
    clientFor: (serviceAccount) => deps.clientFor(controllerUser(serviceAccount)),
    informers,
    clock,
    random,
    log,
    metrics,
    signal,
    ...(deps.pace === undefined ? {} : { pace: deps.pace }),
  });
  return { ready: running.ready, done: running.done.then(() => ownInformers?.stop()) };
}
