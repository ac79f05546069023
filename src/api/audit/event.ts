// audit.k8s.io/v1 Event and EventList as text: fields in upstream's order, one event a line whatever is in it.
import { type AuditLevel, type AuditStage, auditApiVersion } from './policy.ts';

export interface AuditUser {
  readonly username?: string | undefined;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export interface AuditObjectReference {
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
  readonly apiGroup?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly subresource?: string | undefined;
}

export interface AuditResponseStatus {
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly details?: unknown;
  readonly code: number;
}

export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser | undefined;
  /** By which right it is somebody else's. */
  readonly authenticationMetadata?: { readonly impersonationConstraint: string } | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly objectRef?: AuditObjectReference | undefined;
  readonly responseStatus?: AuditResponseStatus | undefined;
  /** JSON. */
  readonly requestObject?: string | undefined;
  /** JSON. */
  readonly responseObject?: string | undefined;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

const orNothing = (text: string | undefined): string | undefined => text || undefined;

/** As Go leaves out what is empty. */
function withoutEmpty(reference: AuditObjectReference): AuditObjectReference {
  return {
    resource: orNothing(reference.resource),
    namespace: orNothing(reference.namespace),
    name: orNothing(reference.name),
    uid: orNothing(reference.uid),
    apiGroup: orNothing(reference.apiGroup),
    apiVersion: orNothing(reference.apiVersion),
    resourceVersion: orNothing(reference.resourceVersion),
    subresource: orNothing(reference.subresource),
  };
}

/** In JSON no string holds a raw line end, so that each of them is between values: what a client indented becomes one line. */
const onOneLine = (json: string): string =>
  json.includes('\n') || json.includes('\r') ? json.replace(/[\n\r]+[\t ]*/g, '') : json;

const typeMeta = `"kind":"Event","apiVersion":"${auditApiVersion}",`;

/** One line of JSON without its end. */
export const eventLine = (event: AuditEvent): string => `{${typeMeta}${fieldsOf(event)}`;

/** What is sent to a webhook. */
export const eventList = (events: readonly AuditEvent[]): string =>
  `{"kind":"EventList","apiVersion":"${auditApiVersion}","metadata":{},"items":[${events.map((e) => `{${fieldsOf(e)}`).join(',')}]}`;

function fieldsOf(event: AuditEvent): string {
  const head = JSON.stringify({
    level: event.level,
    auditID: event.auditID,
    stage: event.stage,
    requestURI: event.requestURI,
    verb: event.verb,
    user: event.user,
    impersonatedUser: event.impersonatedUser,
    authenticationMetadata: event.authenticationMetadata,
    sourceIPs: event.sourceIPs.length === 0 ? undefined : event.sourceIPs,
    userAgent: orNothing(event.userAgent),
    objectRef: event.objectRef === undefined ? undefined : withoutEmpty(event.objectRef),
    responseStatus:
      event.responseStatus === undefined ? undefined : { metadata: {}, ...event.responseStatus },
  });
  const tail = JSON.stringify({
    requestReceivedTimestamp: event.requestReceivedTimestamp,
    stageTimestamp: event.stageTimestamp,
    annotations: event.annotations,
  });
  const { requestObject, responseObject } = event;
  const request = requestObject === undefined ? '' : `"requestObject":${onOneLine(requestObject)},`;
  const response = responseObject === undefined ? '' : `"responseObject":${onOneLine(responseObject)},`;
  return `${head.slice(1, -1)},${request}${response}${tail.slice(1)}`;
}

const quoted = (text: string): string => JSON.stringify(text);
const quotedAll = (texts: readonly string[]): string => texts.map(quoted).join(',');

/** Upstream's format `legacy`: some of an event on one line of text. */
export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser: as } = event;
  const named = user.username !== undefined && user.username !== '';
  const groups = named && user.groups && user.groups.length > 0 ? quotedAll(user.groups) : '<none>';
  const fields = [
    ['id', event.auditID],
    ['stage', event.stage],
    ['ip', event.sourceIPs[0] ?? '<unknown>'],
    ['method', event.verb],
    ['user', named ? user.username! : '<none>'],
    ['groups', groups],
    ['as', as === undefined ? '<self>' : (as.username ?? '')],
    ['asgroups', as?.groups === undefined ? '<lookup>' : quotedAll(as.groups)],
    ['user-agent', event.userAgent],
    ['namespace', event.objectRef?.namespace || '<none>'],
    ['uri', event.requestURI],
    ['response', event.responseStatus === undefined ? '<deferred>' : String(event.responseStatus.code)],
  ] as const;
  return `${event.requestReceivedTimestamp} AUDIT: ${fields.map(([name, value]) => `${name}=${quoted(value)}`).join(' ')}`;
}
