// The informers of one process: each resource is listed, watched and parsed once, whoever asks.
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { Informer, InformerFactory, MetadataOnly } from './informer.ts';
import { type ReflectorDeps, type ReflectorScope, reflect } from './reflector.ts';
import { type Freeze, SharedInformer, type Trim } from './shared-informer.ts';

export interface InformerFactoryOptions {
  /** Called with every object before handlers see it; tests pass `deepFreeze`. */
  readonly freeze?: Freeze;
  /** Called with every object as it comes, before anyone sees it: takes out what no handler reads (client-go's SetTransform). */
  readonly trim?: Trim;
}

interface Running {
  readonly informer: SharedInformer<unknown>;
  readonly scope: ReflectorScope;
  done: Promise<void> | undefined;
}

export function createInformerFactory(
  deps: ReflectorDeps,
  options: InformerFactoryOptions = {},
): InformerFactory {
  const running = new Map<string, Running>();
  const ended = new AbortController();

  return {
    informer<T>(resource: ResourceRef<T>, scope: ReflectorScope = {}): Informer<T> {
      const id = JSON.stringify([
        resource.group,
        resource.version,
        resource.resource,
        scope.namespace ?? '',
        scope.fieldSelector ?? '',
        scope.labelSelector ?? '',
      ]);
      let entry = running.get(id);
      if (entry === undefined) {
        const informer = new SharedInformer<unknown>(resource, deps.log, options);
        entry = { informer, scope, done: undefined };
        running.set(id, entry);
      }
      return entry.informer as unknown as Informer<T>;
    },
    follow: (resource, sink, signal) =>
      reflect(
        deps,
        resource as ResourceRef<MetadataOnly>,
        { metadataOnly: true },
        sink,
        AbortSignal.any([signal, ended.signal]),
      ),
    start() {
      if (ended.signal.aborted) return;
      for (const entry of running.values())
        entry.done ??= reflect(deps, entry.informer.resource, entry.scope, entry.informer, ended.signal);
    },
    async waitForSync(signal) {
      await Promise.all([...running.values()].map((entry) => entry.informer.synced(signal)));
    },
    async stop() {
      ended.abort(new Error('informers are stopped'));
      await Promise.all([...running.values()].map((entry) => entry.done));
    },
  };
}
