// A controller as data: what it is for, what it owns, reads and writes, and how it reconciles one key.
import type { LabelSelector } from '../api/generated/types/meta-v1.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { InformerFactory, Lister } from '../client/cache/informer.ts';
import type { Client, ObjectKey } from '../client/client.ts';
import type { Discovery } from '../client/discovery.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import type { Access } from './access.ts';
import type { Expectations } from './expectations.ts';
import type { Pace } from './pace.ts';

export type AnyResource = ResourceRef<unknown>;

/** Verbs on resources only: a path that is none could not be held to a declaration. */
export type ControllerClient = Omit<Client, 'raw'>;

export interface ControllerContext {
  /** The informer's view of a declared resource; refuses others. */
  read<T>(resource: ResourceRef<T>): Lister<T>;
  /** Asks the server, live: for what `access` declares; refuses the rest. */
  readonly write: ControllerClient;
  /** What the server serves now; anybody may know. */
  discover(): Promise<Discovery>;
  readonly events: EventRecorder;
  readonly expectations: Expectations;
  /** How many pods controllers may make for a namespace; shared by all of them. */
  readonly pace: Pace;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  readonly signal: AbortSignal;
  /** `namespace/name`, or the name. */
  enqueue(key: string): void;
  enqueueAfter(key: string, delayMs: number): void;
}

export interface Result {
  readonly requeueAfterMs?: number | undefined;
}

/** Maps changes of another resource to keys of the controller's own. */
export interface Watch {
  readonly resource: AnyResource;
  /** `old` is set on updates. */
  keys(
    object: unknown,
    change: { readonly type: 'added' | 'updated' | 'deleted'; readonly old: unknown },
    context: ControllerContext,
  ): readonly string[];
}

export interface ControllerDefinition<T> {
  /** Canonical name of upstream's kube-controller-manager: `replicaset-controller`. */
  readonly name: string;
  /** By which name its events are upstream's, where that is another one. */
  readonly component?: string;
  /** What upstream calls its work queue, where that is not its name. */
  readonly queue?: string;
  /** Its service account in kube-system, whose RBAC role it acts under: `replicaset-controller`. */
  readonly serviceAccount: string;
  readonly for: ResourceRef<T>;
  /** Resources whose controller reference may name an object of `for`; their changes enqueue the owner. The first is the one that expectations count. */
  readonly owns?: readonly AnyResource[];
  /** Set when orphans of `owns` that the selector matches are to be adopted; their changes enqueue the matching owners. */
  readonly selectorOf?: (owner: T) => LabelSelector | undefined;
  readonly reads?: readonly AnyResource[];
  /** What it asks for through `write` and `events`. With what its informers read, this is the role of its service account. */
  readonly access: readonly Access[];
  /** Set when it asks for nothing outside of this namespace, or of one for each resource: its roles are of those. */
  readonly namespace?: string | ((resource: Pick<ResourceRef, 'resource'>) => string);
  readonly watches?: readonly Watch[];
  /** Indexes that reconcile needs on what it reads. */
  readonly indexes?: readonly {
    readonly resource: AnyResource;
    readonly name: string;
    values(object: unknown): readonly string[];
  }[];
  /** Default 5, as upstream's --concurrent-*-syncs. */
  readonly concurrency?: number;
  /** How long after its first failure a key is looked at again; twice as long after each further one. Default 5 ms. */
  readonly firstRetryMs?: number;
  /** All keys are added again after this long; for what changes with time and not by an event. */
  readonly resyncMs?: number;
  /** Called once, after the informers have synced; the result is called at the end. */
  start?(context: ControllerContext): (() => void) | undefined;
  reconcile(key: ObjectKey, context: ControllerContext): Promise<Result | undefined>;
}

/** A controller whose work is not one key of one resource at a time (garbage collection). */
export interface LoopDefinition {
  readonly name: string;
  readonly serviceAccount: string;
  readonly reads: readonly AnyResource[];
  readonly access: readonly Access[];
  /** Runs until the signal is aborted. */
  run(context: ControllerContext, informers: InformerFactory): Promise<void>;
}

export type Controller =
  | {
      readonly type: 'keyed';
      readonly name: string;
      readonly definition: ControllerDefinition<unknown>;
    }
  | { readonly type: 'loop'; readonly name: string; readonly definition: LoopDefinition };

export function defineController<T>(definition: ControllerDefinition<T>): Controller {
  return {
    type: 'keyed',
    name: definition.name,
    definition: definition as unknown as ControllerDefinition<unknown>,
  };
}

export function defineLoop(definition: LoopDefinition): Controller {
  return { type: 'loop', name: definition.name, definition };
}

/** A typed `Watch`. */
export function watching<W>(
  resource: ResourceRef<W>,
  keys: (
    object: W,
    change: { readonly type: 'added' | 'updated' | 'deleted'; readonly old: W | undefined },
    context: ControllerContext,
  ) => readonly string[],
): Watch {
  return { resource: resource as AnyResource, keys: keys as Watch['keys'] };
}

/** A typed index. */
export function index<W>(
  resource: ResourceRef<W>,
  name: string,
  values: (object: W) => readonly string[],
): { readonly resource: AnyResource; readonly name: string; values(object: unknown): readonly string[] } {
  return {
    resource: resource as AnyResource,
    name,
    values: values as (object: unknown) => readonly string[],
  };
}
