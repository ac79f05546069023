// events.k8s.io/v1: another face of the core group's events.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { obj, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import { event, eventFromCore, eventToCore } from '../../core/v1/event.ts';

/** The names that events.k8s.io adds to those of core; selectors may use both. */
function selectableFields(modern: JsonObject): Record<string, string> {
  const core = eventToCore(modern);
  const regarding = obj(core['involvedObject']);
  return {
    ...(event.selectableFields?.(core) ?? {}),
    'regarding.kind': str(regarding['kind']),
    'regarding.namespace': str(regarding['namespace']),
    'regarding.name': str(regarding['name']),
    'regarding.uid': str(regarding['uid']),
    'regarding.apiVersion': str(regarding['apiVersion']),
    'regarding.resourceVersion': str(regarding['resourceVersion']),
    'regarding.fieldPath': str(regarding['fieldPath']),
    reportingController: str(core['reportingComponent']),
  };
}

export const eventsV1: GroupBehaviours = {
  events: {
    ...event,
    row: (o, now) => event.row?.(eventToCore(o), now) ?? [],
    selectableFields,
    storage: { group: '', version: 'v1', resource: 'events' },
    conversion: { toStorage: eventToCore, fromStorage: eventFromCore },
  },
};
