// What an event must say: little of one as they were once, more of one with an eventTime, most by events.k8s.io/v1.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { type Errors, each, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type { Event } from '../../generated/types/core-v1.ts';

const maxWord = 128;
const maxNote = 1024;

/** Upstream shows none of what is too long. */
const atMost = (field: string, text: string, max: number): Errors =>
  text.length > max ? [invalid(field, '', `can have at most ${max} characters`)] : [];
const word = (field: string, text: string): Errors => [
  ...(text === '' ? [required(field)] : []),
  ...atMost(field, text, maxWord),
];

/** `reporter`: how the version calls who reports. */
export function eventErrors(event: Decoded<Event>, reporter = 'reportingComponent'): Errors {
  const { namespace = '' } = event.metadata ?? {};
  const about = event.involvedObject?.namespace ?? '';
  const elsewhere = invalid('involvedObject.namespace', about, 'does not match event.namespace');
  const own = each('namespace', namespace, dnsSubdomain);
  if (!event.eventTime) {
    const matches = about === '' ? ['', 'default'].includes(namespace) : about === namespace;
    return [...(matches ? [] : [elsewhere]), ...own];
  }
  const {
    reportingComponent: by = '',
    reportingInstance = '',
    action = '',
    reason = '',
    message = '',
  } = event;
  return [
    ...(about === '' && !['default', 'kube-system'].includes(namespace) ? [elsewhere] : []),
    ...(by === '' ? [required(reporter)] : []),
    ...each(reporter, by, qualifiedNameErrors),
    ...word('reportingInstance', reportingInstance),
    ...word('action', action),
    ...word('reason', reason),
    ...atMost('message', message, maxNote),
    ...own,
  ];
}

function seriesErrors({ series }: Decoded<Event>): Errors {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalid('series.count', '', 'should be at least 2')] : []),
    ...(series.lastObservedTime ? [] : [required('series.lastObservedTime')]),
  ];
}

const modernReporter = 'reportingController';

/** By events.k8s.io/v1; the fields are named as they are stored, as upstream names them. */
export function modernEventErrors(event: Decoded<Event>): Errors {
  const { type = '', source = {} } = event;
  const unset = (field: string, isSet: boolean): Errors =>
    isSet ? [invalid(field, '', 'needs to be unset')] : [];
  return [
    ...eventErrors(event, modernReporter),
    ...seriesErrors(event),
    ...(event.eventTime ? [] : [required('eventTime')]),
    ...(type === 'Normal' || type === 'Warning' ? [] : [invalid('type', '', `has invalid value: ${type}`)]),
    ...unset('firstTimestamp', Boolean(event.firstTimestamp)),
    ...unset('lastTimestamp', Boolean(event.lastTimestamp)),
    ...unset('count', (event.count ?? 0) !== 0),
    ...unset('source', Boolean(source.component) || Boolean(source.host)),
  ];
}

const kept = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
] as const;

/** What has happened stays; only how often it did changes. */
export function modernEventUpdateErrors(event: Decoded<Event>, old: Decoded<Event>): Errors {
  return [
    ...eventErrors(event, modernReporter),
    ...(unchanged('series', event.series, old.series).length > 0 ? seriesErrors(event) : []),
    ...kept.flatMap((field) => unchanged(field, event[field], old[field])),
    ...unchanged(modernReporter, event.reportingComponent, old.reportingComponent),
    ...unchanged('reportingInstance', event.reportingInstance, old.reportingInstance),
  ];
}
