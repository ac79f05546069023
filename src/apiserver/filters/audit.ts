// Tells the audit log of a request at each of its stages, as its policy asks. Without a policy this filter is not there.
import type { AuditEvent } from '../../api/audit/event.ts';
import type { AuditStage } from '../../api/audit/policy.ts';
import { StatusError } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { once } from '../../base/once.ts';
import { untilGiven } from '../../wire/answer-end.ts';
import type { AuditMetrics } from '../audit/audit-metrics.ts';
import type { MatchPolicy } from '../audit/audit-rules.ts';
import type { AuditBackend } from '../audit/backend.ts';
import { EventBuilder } from '../audit/event-builder.ts';
import {
  type BodyReaders,
  contentTypeOf,
  responseObjectOf,
  responseStatusOf,
  statusOfError,
} from '../audit/response-object.ts';
import { TeeBody } from '../audit/tee-body.ts';
import { type ApiResponse, BodyTooLargeError, isPullBody } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { isLongRunning } from '../request-info.ts';
import { asStatusError, internalErrorText } from '../response.ts';
import type { Filter } from './filter.ts';

export interface AuditDependencies extends BodyReaders {
  readonly match: MatchPolicy;
  readonly backend: AuditBackend;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly metrics: AuditMetrics;
}

/** undefined: the policy does not want to know. */
function begin(deps: AuditDependencies, context: RequestContext): EventBuilder | undefined {
  const rule = deps.match(context.info, context.user);
  deps.metrics.level(rule.level);
  if (rule.level === 'None') return undefined;
  const { now, monotonic } = timesOf(deps);
  return new EventBuilder(context, rule, now - (monotonic - context.startedAt));
}

const timesOf = ({ clock }: AuditDependencies): { readonly now: number; readonly monotonic: number } => ({
  now: clock.now(),
  monotonic: clock.monotonic(),
});

function tell(
  { backend, clock, metrics }: AuditDependencies,
  builder: EventBuilder,
  stage: AuditStage,
): boolean | Promise<boolean> {
  const event: AuditEvent | undefined = builder.event(stage, clock.now());
  if (event === undefined) return true;
  metrics.event();
  return backend.process([event]);
}

export const auditFilter =
  (deps: AuditDependencies): Filter =>
  (next) =>
  async (context) => {
    const builder = begin(deps, context);
    if (builder === undefined) return next(context);
    const kept = tell(deps, builder, 'RequestReceived');
    if (!(kept instanceof Promise ? await kept : kept)) return notStored(deps, context);
    context.audit = builder;
    let response: ApiResponse;
    try {
      response = await next(context);
    } catch (error) {
      await failed(deps, builder, context, error);
      throw error;
    }
    return answered(deps, builder, context, response);
  };

/** Who is not believed is told so, and the log is told of it: of the beginning of the answer, as upstream. */
export const failedAuthenticationAudit =
  (deps: AuditDependencies): Filter =>
  (next) =>
  async (context) => {
    const builder = begin(deps, context);
    const response = await next(context);
    if (builder === undefined) return response;
    const body = Buffer.isBuffer(response.body) ? response.body : undefined;
    builder.responseStatus = responseStatusOf(response.status, contentTypeOf(response), body, deps);
    await tell(deps, builder, 'ResponseStarted');
    return response;
  };

/** As Go's http.Error says it. */
function notStored({ metrics }: AuditDependencies, { request }: RequestContext): ApiResponse {
  metrics.rejected();
  return internalErrorText(request.url, 'failed to store audit event');
}

/** The end of it: what took long is told, too. */
function complete(
  deps: AuditDependencies,
  builder: EventBuilder,
  { startedAt }: RequestContext,
): boolean | Promise<boolean> {
  builder.tellLatencies(deps.clock.monotonic() - startedAt);
  return tell(deps, builder, 'ResponseComplete');
}

/** What the API reports is an answer; anything else is what upstream calls a panic. */
async function failed(
  deps: AuditDependencies,
  builder: EventBuilder,
  context: RequestContext,
  error: unknown,
): Promise<void> {
  if (!(error instanceof StatusError || error instanceof BodyTooLargeError)) {
    const message = `APIServer panic'd: ${error instanceof Error ? error.message : String(error)}`;
    builder.responseStatus = { status: 'Failure', message, reason: 'InternalError', code: 500 };
    await tell(deps, builder, 'Panic');
    return;
  }
  builder.responseStatus = statusOfError(asStatusError(error));
  if (isLongRunning(context.info)) await tell(deps, builder, 'ResponseStarted');
  await complete(deps, builder, context);
}

async function answered(
  deps: AuditDependencies,
  builder: EventBuilder,
  context: RequestContext,
  response: ApiResponse,
): Promise<ApiResponse> {
  const { body } = response;
  const type = contentTypeOf(response);
  const lasting = isLongRunning(context.info);
  builder.responseStatus = responseStatusOf(
    response.status,
    type,
    Buffer.isBuffer(body) ? body : undefined,
    deps,
  );
  if (lasting) await tell(deps, builder, 'ResponseStarted');
  const showsObject = builder.tellsResponse && !lasting;
  const show = (bytes: Buffer): void => {
    builder.responseObject = responseObjectOf(type, bytes, deps, builder.rule.omitManagedFields);
  };
  if (response.hijacked !== true && !isPullBody(body)) {
    if (showsObject && body !== undefined) show(Buffer.isBuffer(body) ? body : Buffer.concat(body));
    await complete(deps, builder, context);
    return response;
  }
  const began = deps.clock.monotonic();
  const ended = once(() => {
    // It is made while it is read.
    if (!lasting) builder.took('serialize-response-object', deps.clock.monotonic() - began);
    void complete(deps, builder, context);
  });
  if (showsObject && isPullBody(body))
    return untilGiven(context.request, { ...response, body: new TeeBody(body, show) }, ended);
  return untilGiven(context.request, response, ended);
}
