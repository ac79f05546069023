// events.k8s.io/v1: another face of the core group's events.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { event, eventFromCore, eventToCore, referenceFields } from '../../core/v1/event.ts';
import type { Event as CoreEvent } from '../../generated/types/core-v1.ts';
import type { Event } from '../../generated/types/events-v1.ts';

const asCore = (modern: Decoded<Event>): Decoded<CoreEvent> =>
  eventToCore(modern as JsonObject) as Decoded<CoreEvent>;

/** The names that events.k8s.io adds to those of core; selectors may use both. */
function selectableFields(modern: Decoded<Event>): Record<string, string> {
  return {
    ...event.selectableFields?.(asCore(modern)),
    ...referenceFields('regarding', modern.regarding),
    reportingController: modern.reportingController ?? '',
  };
}

export const eventsV1: GroupBehaviours<{ events: Event }> = {
  events: {
    row: (o, now) => event.row?.(asCore(o), now) ?? [],
    selectableFields,
    strategy: { allowCreateOnUpdate: true, allowUnconditionalUpdate: true },
    storage: { group: '', version: 'v1', resource: 'events' },
    conversion: { toStorage: eventToCore, fromStorage: eventFromCore },
  },
};
