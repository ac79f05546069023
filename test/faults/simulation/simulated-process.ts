// A process of a simulated cluster: a clock and clients that end with it, and a network in between that is slow, loses and repeats.
import { StatusError } from '../../../src/apimachinery/errors.ts';
import type { ResourceRef } from '../../../src/apimachinery/resource-ref.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Client, WatchEvent, WatchOptions } from '../../../src/client/client.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';

/** How often what happens, of one; times in milliseconds. */
export interface Weather {
  /** Half of a call's way: from nothing to this. */
  readonly latencyMs: number;
  /** A call takes `slowMs` more. */
  readonly slow: number;
  readonly slowMs: number;
  /** Refused before it was done: 429, 500, 503. */
  readonly refused: number;
  /** Done, and the answer is lost. */
  readonly lost: number;
  /** An update meets a conflict. */
  readonly conflict: number;
  /** A watch ends with this event, without a word or as expired. */
  readonly cut: number;
  readonly expired: number;
  /** An event is told twice. */
  readonly twice: number;
  /** A watch is silent for up to `lagMs`, then tells all of it. */
  readonly lag: number;
  readonly lagMs: number;
}

export const calm: Weather = {
  latencyMs: 3,
  slow: 0,
  slowMs: 0,
  refused: 0,
  lost: 0,
  conflict: 0,
  cut: 0,
  expired: 0,
  twice: 0,
  lag: 0,
  lagMs: 0,
};

export interface Network {
  readonly chance: SeededRandom;
  weather: Weather;
  /** What it did to a call or a watch. */
  note(text: string): void;
  died(process: string): void;
}

/** What nobody will ever answer. */
const never = <T>(): Promise<T> => new Promise<T>(() => {});

interface Call {
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
}

const callText = ({ verb, resource, name }: Call): string => `${verb} ${resource} ${name}`;

/** Dead at once, wherever it is: no timer of it runs, nothing that it asked is answered. */
export class SimulatedProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  isDead = false;
  /** Dies at a call of its own, so many from now: before it is done, or after it and before the answer. */
  diesAt: { calls: number; readonly moment: 'before' | 'after'; readonly died: () => void } | undefined;
  readonly #ended = new AbortController();
  readonly #time: Clock;
  readonly #network: Network;

  constructor(name: string, time: Clock, network: Network) {
    this.name = name;
    this.#time = time;
    this.#network = network;
    this.signal = this.#ended.signal;
    this.clock = {
      now: () => time.now(),
      monotonic: () => time.monotonic(),
      timer: (ms, run) => time.timer(ms, () => void (this.isDead || run())),
      sleep: async (ms, signal) => {
        await time.sleep(ms, signal);
        if (this.isDead) await never();
      },
    };
  }

  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#network.note(`${this.name} dies`);
    this.#network.died(this.name);
    this.#ended.abort(new Error(`${this.name} is dead`));
  }

  async #wait(ms: number): Promise<void> {
    await this.#time.sleep(ms);
    if (this.isDead) await never();
  }

  #dies(moment: 'before' | 'after'): boolean {
    if (this.diesAt === undefined || this.diesAt.moment !== moment) return false;
    if (this.diesAt.calls-- > 0) return false;
    const { died } = this.diesAt;
    this.diesAt = undefined;
    this.kill();
    died();
    return true;
  }

  async #call<R>(call: Call, send: () => Promise<R>): Promise<R> {
    const { chance, note, weather } = { ...this.#network, weather: this.#network.weather };
    const happens = (share: number): boolean => share > 0 && chance.random() < share;
    if (this.isDead) await never();
    const isSlow = happens(weather.slow);
    await this.#wait(chance.random() * weather.latencyMs + (isSlow ? chance.random() * weather.slowMs : 0));
    if (this.#dies('before')) await never();
    if (happens(weather.refused)) {
      note(`${this.name}: ${callText(call)} is refused`);
      throw chance.pick(refusals);
    }
    if (call.verb === 'update' && happens(weather.conflict)) {
      note(`${this.name}: ${callText(call)} meets a conflict`);
      throw new StatusError(409, 'Conflict', 'Operation cannot be fulfilled: simulated');
    }
    const answer = await send();
    if (this.isDead || this.#dies('after')) await never();
    await this.#wait(chance.random() * weather.latencyMs);
    if (call.verb !== 'list' && call.verb !== 'get' && happens(weather.lost)) {
      note(`${this.name}: the answer to ${callText(call)} is lost`);
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    }
    return answer;
  }

  /** `actual`, as far as this process lives and the network carries. */
  client(actual: Client): Client {
    const go = <R>(
      verb: string,
      { resource }: { readonly resource: string },
      name: string,
      send: () => Promise<R>,
    ): Promise<R> => this.#call({ verb, resource, name }, send);
    const nameOf = (object: unknown): string => {
      const { metadata } = object as { metadata?: { name?: string; generateName?: string } };
      return metadata?.name ?? metadata?.generateName ?? '';
    };
    return {
      get: (resource, key, options) =>
        go('get', resource, key.name, () => actual.get(resource, key, options)),
      list: (resource, options) => go('list', resource, '', () => actual.list(resource, options)),
      create: (resource, object, options) =>
        go('create', resource, nameOf(object), () => actual.create(resource, object, options)),
      update: (resource, object, options) =>
        go('update', resource, nameOf(object), () => actual.update(resource, object, options)),
      patch: (resource, key, patch, options) =>
        go('patch', resource, key.name, () => actual.patch(resource, key, patch, options)),
      delete: (resource, key, options) =>
        go('delete', resource, key.name, () => actual.delete(resource, key, options)),
      deleteCollection: (resource, options) =>
        go('deletecollection', resource, '', () => actual.deleteCollection(resource, options)),
      createSubresource: (resource, key, subresource, body) =>
        go('create', { resource: `${resource.resource}/${subresource}` }, key.name, () =>
          actual.createSubresource(resource, key, subresource, body),
        ),
      raw: (request) =>
        go(request.method.toLowerCase(), { resource: request.path }, '', () => actual.raw(request)),
      watch: (resource, options) => this.#watch(actual, resource, options ?? {}),
    };
  }

  async *#watch<T>(
    actual: Client,
    resource: ResourceRef<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void> {
    const own = new AbortController();
    const signals = [own.signal, this.signal, ...(options.signal === undefined ? [] : [options.signal])];
    const source = actual.watch(resource, { ...options, signal: AbortSignal.any(signals) });
    try {
      yield* this.#carried(source, resource.resource, own.signal);
    } finally {
      own.abort();
      if (this.isDead) await never();
    }
  }

  /** Events in their order, each some time after the server told it. */
  async *#carried<T>(
    source: AsyncIterable<WatchEvent<T>>,
    resource: string,
    closed: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void> {
    const { chance, note } = this.#network;
    const happens = (share: number): boolean => share > 0 && chance.random() < share;
    const way: { readonly event: WatchEvent<T>; readonly at: number }[] = [];
    let last = 0;
    let end: { readonly error?: unknown } | undefined;
    let wake = (): void => {};
    const pump = async (): Promise<void> => {
      try {
        for await (const event of source) {
          if (closed.aborted) return;
          const { lag, lagMs, latencyMs, twice } = this.#network.weather;
          const later = chance.random() * latencyMs + (happens(lag) ? chance.random() * lagMs : 0);
          last = Math.max(last, this.#time.monotonic() + later);
          for (let i = happens(twice) ? 0 : 1; i < 2; i++) way.push({ event, at: last });
          wake();
        }
        end = {};
      } catch (error) {
        end = { error };
      }
      wake();
    };
    void pump();
    for (;;) {
      const next = way.shift();
      if (next === undefined) {
        if (end !== undefined) {
          if ('error' in end) throw end.error;
          return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      await this.#wait(Math.max(0, next.at - this.#time.monotonic()));
      if (happens(this.#network.weather.cut)) {
        note(`${this.name}: its watch of ${resource} is cut`);
        return;
      }
      if (happens(this.#network.weather.expired)) {
        note(`${this.name}: its watch of ${resource} has expired`);
        throw new StatusError(410, 'Expired', 'too old resource version: simulated');
      }
      yield next.event;
    }
  }
}

const refusals: readonly StatusError[] = [
  new StatusError(500, 'InternalError', 'Internal error occurred: simulated'),
  new StatusError(503, 'ServiceUnavailable', 'simulated'),
  new StatusError(429, 'TooManyRequests', 'simulated', { retryAfterSeconds: 1 }),
];
