// Asks all kubelets what is used, again and again, as long as somebody wants to know: metrics-server's scraper, which is idle otherwise.
import { nodes } from '../../api/generated/resources.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { meta, nameOf, obj } from '../../apimachinery/json-access.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import { Places } from '../../base/turns.ts';
import type { Logger } from '../../component-base/logger.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import { readResourceText } from '../../registry/metrics/resource-text.ts';
import type { KubeletReadings } from '../../registry/metrics/usage-handlers.ts';
import { type NodePoints, resolutionMs, withReading } from '../../registry/metrics/usage-points.ts';

export interface KeptReadingsDeps {
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly log: Logger;
  /** What a kubelet says at /metrics/resource. */
  readonly read: (node: JsonObject, signal: AbortSignal) => Promise<string>;
}

/** Kubelets that are asked together. */
const together = 16;
/** As metrics-server's --kubelet-request-timeout. */
const answerWithinMs = 10_000;
/** Whoever is the first to ask waits for two readings, so close to each other. */
const secondAfterMs = 2_000;
const waitAtMostMs = 15_000;
/** An autoscaler asks four times in a minute, a person once. */
const idleAfterMs = 5 * 60_000;

/** Readings of the kubelets of all nodes but simulated ones. */
export class KeptReadings implements KubeletReadings {
  readonly #deps: KeptReadingsDeps;
  readonly #places = new Places(together);
  readonly #closed = new AbortController();
  #points: ReadonlyMap<string, NodePoints> = new Map();
  #askedAt = Number.NEGATIVE_INFINITY;
  /** Resolves after the second pass since it began to ask; undefined: it is idle. */
  #begun: Promise<void> | undefined;

  constructor(deps: KeptReadingsDeps) {
    this.#deps = deps;
  }

  of(nodeName: string): NodePoints | undefined {
    return this.#points.get(nodeName);
  }

  async ready(): Promise<void> {
    const { clock } = this.#deps;
    this.#askedAt = clock.monotonic();
    if (this.#closed.signal.aborted || (this.#begun === undefined && this.#nodes().length === 0)) return;
    this.#begun ??= this.#begin();
    await this.#begun;
  }

  close(): void {
    this.#closed.abort();
  }

  #nodes(): readonly JsonObject[] {
    const all = this.#deps.live.list(nodes) as unknown as readonly JsonObject[];
    return all.filter((node) => obj(meta(node)['labels'])[simulatedNodeLabel] !== 'true');
  }

  #begin(): Promise<void> {
    const { clock, log } = this.#deps;
    const begun = Promise.withResolvers<void>();
    // A kubelet that does not answer holds up nobody for longer.
    const cancel = clock.timer(waitAtMostMs, begun.resolve);
    void this.#run(begun.resolve)
      .catch((error: unknown) => {
        if (!this.#closed.signal.aborted) log.error({ error }, 'kubelets are no longer asked what is used');
      })
      .finally(() => {
        cancel();
        begun.resolve();
        this.#begun = undefined;
        this.#points = new Map();
      });
    return begun.promise;
  }

  async #run(begun: () => void): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closed;
    for (let passes = 1; clock.monotonic() - this.#askedAt < idleAfterMs; passes++) {
      const startedAt = clock.monotonic();
      await this.#pass();
      if (passes === 2) begun();
      const everyMs = passes === 1 ? secondAfterMs : resolutionMs;
      await clock.sleep(Math.max(0, startedAt + everyMs - clock.monotonic()), signal);
    }
  }

  /** As metrics-server: of a node that did not answer nothing is known, until it has answered twice. */
  async #pass(): Promise<void> {
    const read = await Promise.all(
      this.#nodes().map(async (node): Promise<[string, NodePoints] | undefined> => {
        const name = nameOf(node);
        const points = await this.#read(node, name);
        return points && [name, points];
      }),
    );
    this.#points = new Map(read.filter((one) => one !== undefined));
  }

  async #read(node: JsonObject, name: string): Promise<NodePoints | undefined> {
    const { clock, log, read } = this.#deps;
    const leave = await this.#places.take(this.#closed.signal);
    const late = new AbortController();
    const cancel = clock.timer(answerWithinMs, () => late.abort(new Error('no answer in time')));
    try {
      const nowMs = clock.now();
      const text = await read(node, AbortSignal.any([late.signal, this.#closed.signal]));
      return withReading(this.#points.get(name), readResourceText(text, nowMs));
    } catch (error) {
      if (!this.#closed.signal.aborted)
        log.debug({ error, node: name }, 'a kubelet did not say what is used');
      return undefined;
    } finally {
      cancel();
      leave();
    }
  }
}
