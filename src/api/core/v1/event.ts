// Events: one store for core/v1 and events.k8s.io/v1, the row and the fields that selectors name.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { ageOf } from '../../../apimachinery/human-duration.ts';
import { meta, num, obj, str } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';

function source(event: JsonObject): string {
  const from = obj(event['source']);
  const component = str(from['component']) || str(event['reportingComponent']);
  const host = str(from['host']) || str(event['reportingInstance']);
  return [component, host].filter((t) => t !== '').join(', ');
}

/** `pod/x`; with the name only when the kind is missing. */
function objectText(event: JsonObject): string {
  const about = obj(event['involvedObject']);
  return `${str(about['kind']).toLowerCase()}/${str(about['name'])}`;
}

function row(event: JsonObject, now: number): Json[] {
  const series = obj(event['series']);
  const first = str(event['firstTimestamp']) || str(event['eventTime']);
  let last = str(event['lastTimestamp']) || first;
  if (str(series['lastObservedTime']) !== '') last = str(series['lastObservedTime']);
  const count = num(series['count']) || num(event['count']) || 1;
  return [
    ageOf(last, now),
    str(event['type']),
    str(event['reason']),
    objectText(event),
    str(obj(event['involvedObject'])['fieldPath']),
    source(event),
    str(event['message']).trim(),
    ageOf(first, now),
    count,
    str(meta(event)['name']),
  ];
}

function selectableFields(event: JsonObject): Record<string, string> {
  const about = obj(event['involvedObject']);
  return {
    'involvedObject.kind': str(about['kind']),
    'involvedObject.namespace': str(about['namespace']),
    'involvedObject.name': str(about['name']),
    'involvedObject.uid': str(about['uid']),
    'involvedObject.apiVersion': str(about['apiVersion']),
    'involvedObject.resourceVersion': str(about['resourceVersion']),
    'involvedObject.fieldPath': str(about['fieldPath']),
    reason: str(event['reason']),
    reportingComponent: str(event['reportingComponent']) || str(obj(event['source'])['component']),
    source: str(obj(event['source'])['component']) || str(event['reportingComponent']),
    type: str(event['type']),
  };
}

export const event: KindBehaviour = {
  row,
  selectableFields,
  strategy: { allowCreateOnUpdate: true, allowUnconditionalUpdate: true },
};

const renamed: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

/** The same event as core/v1, as it is stored. */
export function eventToCore(event: JsonObject): JsonObject {
  const out: JsonObject = { ...event, kind: 'Event', apiVersion: 'v1' };
  for (const [core, modern] of renamed) {
    delete out[modern];
    if (event[modern] !== undefined) out[core] = event[modern];
  }
  out['involvedObject'] ??= {};
  out['source'] ??= {};
  return out;
}

/** The same event as events.k8s.io/v1. */
export function eventFromCore(event: JsonObject): JsonObject {
  const out: JsonObject = { ...event, kind: 'Event', apiVersion: 'events.k8s.io/v1' };
  for (const [core, modern] of renamed) {
    delete out[core];
    if (event[core] !== undefined) out[modern] = event[core];
  }
  return out;
}
