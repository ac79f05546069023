// A whole cluster in one process and in virtual time: API server over memory, controllers, scheduler, nodes of both systems.

import type { Client } from '../../../src/client/client.ts';
import { createEventRecorder } from '../../../src/client/event-recorder.ts';
import { type Logger, silentLogger } from '../../../src/component-base/logger.ts';
import { createMetrics } from '../../../src/component-base/metrics.ts';
import { systemClock } from '../../../src/component-base/system-clock.ts';
import { startAllControllers } from '../../../src/controllers/start-controllers.ts';
import { openPki, type Pki } from '../../../src/controlplane/pki.ts';
import {
  administrator,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../src/controlplane/testing/test-control-plane.ts';
import { schedulerName } from '../../../src/scheduler/cluster-events.ts';
import { startScheduler } from '../../../src/scheduler/scheduler.ts';
import { MemoryStorage } from '../../../src/storage/memory/memory-storage.ts';
import { frozenInformers } from '../../harness/frozen-informers.ts';
import { chanceOf, randomOf } from './chance.ts';
import { type NodePlan, SimulatedNode } from './simulated-node.ts';
import { calm, type Network, SimulatedProcess, type Weather } from './simulated-process.ts';
import type { Trace } from './trace.ts';
import { VirtualTime } from './virtual-time.ts';

let pki: Promise<Pki> | undefined;

/** Keys are no part of the story; all simulations of a process have the same. */
function somePki(): Promise<Pki> {
  const files = new Map<string, string>();
  pki ??= openPki(
    { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
    systemClock,
  );
  return pki;
}

export const components = ['controllers', 'scheduler'] as const;
export type ComponentName = (typeof components)[number];

export interface ClusterOptions {
  readonly seed: number;
  readonly nodes: readonly NodePlan[];
  readonly trace: Trace;
  /** Of controllers and scheduler. */
  readonly starts: (process: string, seconds: number) => void;
  /** Of any process. */
  readonly dies: (process: string, seconds: number) => void;
}

export class SimulatedCluster {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly client: Client;
  readonly nodes: ReadonlyMap<string, SimulatedNode>;
  readonly network: Network;
  /** What went wrong inside, which no component may let happen. */
  readonly faults: string[] = [];
  readonly #server: TestControlPlane;
  readonly #log: Logger;
  readonly #processes = new Map<ComponentName, SimulatedProcess>();
  readonly #lives = new Map<string, number>();
  readonly #starts: (process: string) => void;

  private constructor(
    { dies, nodes, seed, starts, trace }: ClusterOptions,
    time: VirtualTime,
    server: TestControlPlane,
  ) {
    this.seed = seed;
    this.time = time;
    this.#server = server;
    this.client = server.controlPlane.clientFor(administrator);
    this.network = {
      chance: chanceOf(seed, 'network'),
      weather: calm,
      note: (text) => trace.note(time.seconds, text),
      died: (name) => dies(name, time.seconds),
    };
    this.#starts = (name) => starts(name, time.seconds);
    this.#log = this.#logTo(trace);
    const world = {
      seed,
      time,
      network: this.network,
      log: this.#log,
      nodeClient: (name: string) =>
        server.controlPlane.clientFor({
          name: `system:node:${name}`,
          groups: ['system:nodes', 'system:authenticated'],
        }),
    };
    this.nodes = new Map(nodes.map((plan) => [plan.name, new SimulatedNode(plan, world)]));
  }

  static async open(options: ClusterOptions): Promise<SimulatedCluster> {
    const keys = await somePki();
    const time = new VirtualTime();
    const storage = new MemoryStorage(time.clock);
    const { seed, trace } = options;
    const server = await startTestControlPlane({
      clock: time.clock,
      random: randomOf(seed, 'server'),
      storage,
      pki: keys,
    });
    await time.settle();
    storage.watch('/registry/', storage.revision(), (events) => {
      for (const event of events) trace.wrote(time.seconds, event);
    });
    return new SimulatedCluster(options, time, server);
  }

  /** What they warn of is told; an error is a fault, unless the weather is bad. */
  #logTo(trace: Trace): Logger {
    const tell = (level: string) => (fields: object, message: string) => {
      const { error } = fields as { error?: unknown };
      const why = error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`;
      trace.note(this.time.seconds, `${level} ${message}${why}`);
      if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
        this.faults.push(`${message}: ${error.stack ?? error.message}`);
    };
    const log: Logger = { ...silentLogger, warn: tell('warn'), error: tell('error'), child: () => log };
    return log;
  }

  set weather(weather: Weather) {
    this.network.weather = weather;
  }

  process(name: ComponentName): SimulatedProcess | undefined {
    const process = this.#processes.get(name);
    return process?.isDead === true ? undefined : process;
  }

  start(name: ComponentName): SimulatedProcess {
    const running = this.process(name);
    if (running !== undefined) return running;
    const life = this.#lives.get(name) ?? 0;
    this.#lives.set(name, life + 1);
    const process = new SimulatedProcess(name, this.time.clock, this.network);
    this.#processes.set(name, process);
    this.network.note(`${name} starts`);
    this.#starts(name);
    const random = randomOf(this.seed, `${name} ${life}`);
    if (name === 'controllers') this.#startControllers(process, random);
    else this.#startScheduler(process, random);
    return process;
  }

  #informers(process: SimulatedProcess, random: ReturnType<typeof randomOf>) {
    const client = process.client(this.#server.controlPlane.reader);
    return frozenInformers({ client, clock: process.clock, random, log: this.#log });
  }

  #startControllers(process: SimulatedProcess, random: ReturnType<typeof randomOf>): void {
    const running = startAllControllers(
      {
        clientFor: (user) => process.client(this.#server.controlPlane.clientFor(user)),
        clock: process.clock,
        random,
        log: this.#log,
        metrics: createMetrics(),
        informers: this.#informers(process, random),
        signal: process.signal,
      },
      { rootCa: { now: () => 'PEM' }, clusterCIDRs: ['10.128.0.0/9'] },
    );
    running.ready.catch(() => {});
    running.done.catch(() => {});
  }

  #startScheduler(process: SimulatedProcess, random: ReturnType<typeof randomOf>): void {
    const { controlPlane } = this.#server;
    const { clock } = process;
    const client = process.client(
      controlPlane.clientFor({ name: 'system:kube-scheduler', groups: ['system:authenticated'] }),
    );
    const log = this.#log;
    const informers = this.#informers(process, random);
    const events = createEventRecorder({ client, clock, log }, { component: schedulerName });
    const metrics = createMetrics();
    const scheduler = startScheduler({ client, informers, events, clock, random, log, metrics });
    informers.start();
    process.signal.addEventListener('abort', () => {
      scheduler.stop();
      void informers.stop();
    });
  }

  async close(): Promise<void> {
    for (const process of this.#processes.values()) process.kill();
    for (const node of this.nodes.values()) node.killAgent();
    await this.time.settle();
    await this.#server.close();
    await this.time.settle();
  }
}
