// events.k8s.io/v1: another face of the core group's events.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { event, eventFromCore, eventToCore } from '../../core/v1/event.ts';
import { modernEventErrors, modernEventUpdateErrors } from '../../core/v1/validate-events.ts';
import type { Event as CoreEvent } from '../../generated/types/core-v1.ts';
import type { Event } from '../../generated/types/events-v1.ts';

const asCore = (modern: Decoded<Event>): Decoded<CoreEvent> =>
  eventToCore(modern as JsonObject) as Decoded<CoreEvent>;

const coreNames = Object.keys(event.selectableFields?.({}) ?? {});
const ownName = (core: string): string =>
  core === 'reportingComponent' ? 'reportingController' : core.replace(/^involvedObject\./, 'regarding.');

export const eventsV1: GroupBehaviours<{ events: Event }> = {
  events: {
    row: (o, now) => event.row?.(asCore(o), now) ?? [],
    // Its own names only, as upstream; what is stored has those of core.
    storedFieldNames: new Map(coreNames.map((name) => [ownName(name), name] as const)),
    ownUpdateRules: true,
    strategy: {
      validate: (o) => modernEventErrors(asCore(o)),
      validateUpdate: (o, old) => modernEventUpdateErrors(asCore(o), asCore(old)),
      allowCreateOnUpdate: true,
      allowUnconditionalUpdate: true,
    },
    storage: { group: '', version: 'v1', resource: 'events' },
    conversion: { toStorage: eventToCore, fromStorage: eventFromCore },
  },
};
