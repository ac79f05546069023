// Events: one store for core/v1 and events.k8s.io/v1, the row and the fields that selectors name.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { ageOf } from '../../../apimachinery/human-duration.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { Event } from '../../generated/types/core-v1.ts';
import { eventErrors } from './validate-events.ts';

function source(event: Decoded<Event>): string {
  const from = event.source ?? {};
  const component = (from.component ?? '') || (event.reportingComponent ?? '');
  const host = (from.host ?? '') || (event.reportingInstance ?? '');
  return [component, host].filter((t) => t !== '').join(', ');
}

/** `pod/x`; with the name only when the kind is missing. */
function objectText(event: Decoded<Event>): string {
  const about = event.involvedObject ?? {};
  return `${(about.kind ?? '').toLowerCase()}/${about.name ?? ''}`;
}

function row(event: Decoded<Event>, now: number): Json[] {
  const series = event.series ?? {};
  const first = (event.firstTimestamp ?? '') || (event.eventTime ?? '');
  let last = (event.lastTimestamp ?? '') || first;
  if (series.lastObservedTime) last = series.lastObservedTime ?? '';
  const count = (series.count ?? 0) || (event.count ?? 0) || 1;
  return [
    ageOf(last, now),
    event.type ?? '',
    event.reason ?? '',
    objectText(event),
    event.involvedObject?.fieldPath ?? '',
    source(event),
    (event.message ?? '').trim(),
    ageOf(first, now),
    count,
    event.metadata?.name ?? '',
  ];
}

function selectableFields(event: Decoded<Event>): Record<string, string> {
  const about = event.involvedObject ?? {};
  return {
    'involvedObject.kind': about.kind ?? '',
    'involvedObject.namespace': about.namespace ?? '',
    'involvedObject.name': about.name ?? '',
    'involvedObject.uid': about.uid ?? '',
    'involvedObject.apiVersion': about.apiVersion ?? '',
    'involvedObject.resourceVersion': about.resourceVersion ?? '',
    'involvedObject.fieldPath': about.fieldPath ?? '',
    reason: event.reason ?? '',
    reportingComponent: event.reportingComponent ?? '',
    source: (event.source?.component ?? '') || (event.reportingComponent ?? ''),
    type: event.type ?? '',
  };
}

export const event: KindBehaviour<Event> = {
  row,
  selectableFields,
  strategy: {
    validate: (o) => eventErrors(o),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
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
