// Writes Events about objects, in the background: nobody waits for an event and none makes its caller fail.
import { events } from '../api/generated/resources.ts';
import type { ObjectReference } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { apiVersionOf, type ResourceRef } from '../apimachinery/resource-ref.ts';
import { type Clock, rfc3339 } from '../base/clock.ts';
import { Lanes } from '../base/lanes.ts';
import type { Logger } from '../component-base/logger.ts';
import type { Client } from './client.ts';
import { EventCorrelator } from './event-correlator.ts';

export interface EventRecorder {
  event(about: ObjectReference, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Resolves when all events so far were sent or given up. */
  flush(): Promise<void>;
}

export interface EventRecorderDeps {
  readonly client: Pick<Client, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface EventSource {
  /** `deployment-controller`, `kubelet` … */
  readonly component: string;
  /** The node, for components of a node. */
  readonly host?: string;
}

interface Referable {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
  };
}

export function referenceTo(resource: ResourceRef, object: Referable, fieldPath?: string): ObjectReference {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource),
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
  };
}

/** More than this waiting means the server is away: newer ones are dropped, as client-go's full channel. */
const maxWaiting = 1000;
const maxMessageBytes = 1024;
/** About several objects: the server stores together what comes together, in one commit. */
const mostAtOnce = 16;

const unread = { unread: true } as const;

interface Known {
  readonly name: string;
  readonly namespace: string;
}

/** The first of its kind. `serial` tells those of one millisecond apart. */
function newEvent(
  source: EventSource,
  { about, ...said }: { about: ObjectReference; type: string; reason: string; message: string },
  now: number,
  serial: number,
) {
  const time = rfc3339(now);
  // Cluster-scoped objects' events live in default.
  const namespace = about.namespace === undefined || about.namespace === '' ? 'default' : about.namespace;
  const unique = (BigInt(now) * 1_000_000n + BigInt(serial % 1_000_000)).toString(16);
  return {
    metadata: { name: `${about.name}.${unique}`, namespace },
    involvedObject: about,
    ...said,
    source: { component: source.component, ...(source.host === undefined ? {} : { host: source.host }) },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    reportingComponent: source.component,
    reportingInstance: source.host ?? '',
  };
}

const shortened = (message: string): string =>
  Buffer.byteLength(message) > maxMessageBytes ? `${message.slice(0, maxMessageBytes - 4)} ...` : message;

export function createEventRecorder(deps: EventRecorderDeps, source: EventSource): EventRecorder {
  const { client, clock, log } = deps;
  const correlator = new EventCorrelator();
  const known = new Map<string, Known>();
  const lanes = new Lanes(mostAtOnce);
  const waiting = new Set<Promise<void>>();
  let serial = 0;

  async function create(about: ObjectReference, type: string, reason: string, message: string, key: string) {
    serial += 1;
    const event = newEvent(source, { about, type, reason, message }, clock.now(), serial);
    await client.create(events, event, unread);
    known.set(key, event.metadata);
    if (known.size > 4096) known.delete(known.keys().next().value ?? '');
  }

  async function send(object: string, about: ObjectReference, type: string, reason: string, text: string) {
    const from = `${source.component}/${source.host ?? ''}`;
    const facts = { source: from, about: object, type, reason, message: text };
    const correlation = correlator.correlate(facts, clock.now());
    if (correlation.action === 'drop') return;
    const { key, message } = correlation;
    const previous = known.get(key);
    if (correlation.action === 'create' || previous === undefined)
      return create(about, type, reason, message, key);
    try {
      const body = { count: correlation.count, message, lastTimestamp: rfc3339(clock.now()) };
      await client.patch(events, previous, { type: 'strategic', body }, unread);
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      correlator.forget(key);
      known.delete(key);
      await create(about, type, reason, message, key);
    }
  }

  return {
    event(about, type, reason, message) {
      if (waiting.size >= maxWaiting) return;
      const text = shortened(message);
      const object = [about.kind, about.namespace, about.name, about.uid, about.fieldPath].join('/');
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(promise);
      lanes.add(object, async () => {
        try {
          await send(object, about, type, reason, text);
        } catch (error) {
          // A namespace that is going away refuses its events: that is its normal end.
          log.debug({ error, reason, about: about.name }, 'event was not written');
        } finally {
          waiting.delete(promise);
          resolve();
        }
      });
    },
    flush: async () => {
      await Promise.all(waiting);
    },
  };
}
