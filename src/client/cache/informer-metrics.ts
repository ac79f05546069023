// How long the handlers of an informer take for what is told to them, by client-go's name.
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { declareMetrics } from '../../component-base/metrics.ts';
import type { ReflectorDeps, ReflectorSink } from './reflector.ts';

const declared = declareMetrics((metrics) =>
  metrics.histogram(
    'informer_processing_latency_seconds',
    'Time taken to process events after popping from the queue.',
    ['name', 'group', 'version', 'resource'],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ),
);

/** A list counts once: it is handed on in one go. */
export function timedSink<T>(
  sink: ReflectorSink<T>,
  { clock, metrics, name = '' }: Pick<ReflectorDeps, 'clock' | 'metrics' | 'name'>,
  { group, version, resource }: ResourceRef<T>,
): ReflectorSink<T> {
  if (metrics === undefined) return sink;
  const latency = declared(metrics).of({ name, group, version, resource });
  const timed =
    <A>(handle: (what: A) => void) =>
    (what: A): void => {
      const began = clock.monotonic();
      handle(what);
      latency.observe((clock.monotonic() - began) / 1000);
    };
  return {
    replace: timed((objects: readonly T[]) => sink.replace(objects)),
    set: timed((object: T) => sink.set(object)),
    remove: timed((object: T) => sink.remove(object)),
  };
}
