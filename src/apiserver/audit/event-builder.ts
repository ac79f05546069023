// The audit event of one request: what it asks, what it is answered, and the stages of which it is told.
import type {
  AuditEvent,
  AuditObjectReference,
  AuditResponseStatus,
  AuditUser,
} from '../../api/audit/event.ts';
import type { AuditStage } from '../../api/audit/policy.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { obj, str } from '../../apimachinery/json-access.ts';
import { formatIp, parseIp, unmapped } from '../../base/ip.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestContext } from '../request-context.ts';
import type { AuditRule } from './audit-rules.ts';
import type { AuditedRequest } from './audited-request.ts';
import { Latencies, type Layer } from './latencies.ts';
import { objectText } from './response-object.ts';

const maxUserAgent = 1024;

const isAtLeastRequest = ({ level }: AuditRule): boolean =>
  level === 'Request' || level === 'RequestResponse';

export class EventBuilder implements AuditedRequest {
  readonly rule: AuditRule;
  readonly #context: RequestContext;
  readonly #user: UserInfo | undefined;
  readonly #receivedMs: number;
  readonly #asked: Pick<AuditEvent, 'requestURI' | 'verb' | 'user' | 'sourceIPs' | 'userAgent'>;
  #reference: AuditObjectReference | undefined;
  readonly #latencies = new Latencies();
  #requestObject: string | undefined;
  #isAnsweredElsewhere = false;
  responseStatus: AuditResponseStatus | undefined;
  responseObject: string | undefined;

  constructor(context: RequestContext, rule: AuditRule, receivedMs: number) {
    this.rule = rule;
    this.#context = context;
    this.#user = context.user;
    this.#receivedMs = receivedMs;
    this.took('authentication', context.authenticatedInMs);
    const { info, request } = context;
    const agent = context.header('user-agent');
    this.#asked = {
      requestURI: request.url,
      verb: info.verb,
      user: userOf(context.user),
      sourceIPs: sourceIps(context),
      userAgent: agent.length > maxUserAgent ? `${agent.slice(0, maxUserAgent)}...TRUNCATED` : agent,
    };
    if (info.isResource)
      this.#reference = {
        resource: info.resource,
        namespace: info.namespace,
        name: info.name,
        apiGroup: info.group,
        apiVersion: info.version,
        subresource: info.subresource,
      };
  }

  get isTold(): boolean {
    return isAtLeastRequest(this.rule);
  }

  requestObject(object: JsonObject): void {
    const metadata = obj(object['metadata']);
    const before = this.#reference;
    this.#reference = {
      ...before,
      namespace: before?.namespace || str(metadata['namespace']),
      name: before?.name || str(metadata['name']),
      uid: before?.uid || str(metadata['uid']),
      resourceVersion: before?.resourceVersion || str(metadata['resourceVersion']),
    };
    // Read anew for another attempt, it is still what was sent.
    if (isAtLeastRequest(this.rule)) this.#requestObject ??= objectText(object, this.rule.omitManagedFields);
  }

  requestPatch(json: string): void {
    if (isAtLeastRequest(this.rule)) this.#requestObject = json;
  }

  answeredElsewhere(): void {
    this.#isAnsweredElsewhere = true;
  }

  get tellsResponse(): boolean {
    return this.rule.level === 'RequestResponse' && !this.#isAnsweredElsewhere;
  }

  took(layer: Layer, ms: number): void {
    this.#latencies.took(layer, ms);
  }

  /** Before the event of its end: where the time went, if it was much. */
  tellLatencies(totalMs: number): void {
    for (const [key, value] of this.#latencies.annotations(totalMs)) this.#context.annotate(key, value);
  }

  /** undefined: the policy leaves this stage out. */
  event(stage: AuditStage, nowMs: number): AuditEvent | undefined {
    const { level, omitStages } = this.rule;
    if (omitStages.has(stage)) return undefined;
    const { auditId, auditAnnotations, impersonationConstraint, user } = this.#context;
    return {
      level,
      auditID: auditId,
      stage,
      ...this.#asked,
      impersonatedUser: user === this.#user ? undefined : userOf(user),
      authenticationMetadata: impersonationConstraint === '' ? undefined : { impersonationConstraint },
      objectRef: this.#reference,
      responseStatus: this.responseStatus,
      requestObject: this.#requestObject,
      responseObject: this.responseObject,
      requestReceivedTimestamp: microTime(this.#receivedMs),
      stageTimestamp: microTime(stage === 'RequestReceived' ? this.#receivedMs : nowMs),
      annotations: auditAnnotations.size === 0 ? undefined : Object.fromEntries([...auditAnnotations].sort()),
    };
  }
}

const userOf = (user: UserInfo | undefined): AuditUser =>
  user === undefined
    ? {}
    : {
        username: user.name || undefined,
        uid: user.uid || undefined,
        groups: user.groups.length === 0 ? undefined : user.groups,
        extra: user.extra !== undefined && Object.keys(user.extra).length > 0 ? user.extra : undefined,
      };

/** As metav1.MicroTime, with the parts of a millisecond that a clock may tell. */
function microTime(ms: number): string {
  const whole = Math.floor(ms);
  const micros = Math.min(999, Math.floor((ms - whole) * 1000));
  return `${new Date(whole).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`;
}

const ipOf = (text: string): string | undefined => {
  const ip = parseIp(text.trim());
  return ip === undefined ? undefined : formatIp(unmapped(ip));
};

/** Whom the proxies in between name, then who is connected: he can't lie about himself. */
function sourceIps(context: RequestContext): string[] {
  const forwarded = context.header('x-forwarded-for');
  const ips = forwarded === '' ? [] : forwarded.split(',').flatMap((part) => ipOf(part) ?? []);
  const real = ipOf(context.header('x-real-ip'));
  if (real !== undefined && !ips.includes(real)) ips.push(real);
  const remote = ipOf(context.request.remoteAddress);
  if (remote !== undefined && ips.at(-1) !== remote) ips.push(remote);
  return ips;
}
