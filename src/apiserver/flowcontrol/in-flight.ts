// How many requests are under way, by kind: the most there were in the last second, as upstream tells it.
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';

const readVerbs: readonly string[] = ['get', 'list', 'watch'];
const periodMs = 1_000;

interface Mark {
  readonly kind: 'readOnly' | 'mutating';
  now: number;
  most: number;
}

export interface InFlight {
  /** A request runs; to be called once when it no longer does. */
  begins(verb: string): () => void;
}

export function inFlight(metrics: Pick<MetricsRegistry, 'gauge'>, clock: Pick<Clock, 'monotonic'>): InFlight {
  const gauge = metrics.gauge(
    'apiserver_current_inflight_requests',
    'Maximal number of currently used inflight request limit of this apiserver per request kind in last second.',
    ['request_kind'],
  );
  const readOnly: Mark = { kind: 'readOnly', now: 0, most: 0 };
  const mutating: Mark = { kind: 'mutating', now: 0, most: 0 };
  const marks = [readOnly, mutating];
  let period = Math.floor(clock.monotonic() / periodMs);
  for (const { kind } of marks) gauge.set({ request_kind: kind }, 0);
  /** No timer is needed: who asks for the metrics is a request, too. */
  const turn = (): void => {
    const current = Math.floor(clock.monotonic() / periodMs);
    if (current === period) return;
    for (const mark of marks) {
      gauge.set({ request_kind: mark.kind }, current === period + 1 ? mark.most : mark.now);
      mark.most = mark.now;
    }
    period = current;
  };
  return {
    begins(verb) {
      turn();
      const mark = readVerbs.includes(verb) ? readOnly : mutating;
      mark.most = Math.max(mark.most, ++mark.now);
      return () => {
        turn();
        mark.now--;
      };
    },
  };
}
