// Lets a request in when its priority level has seats for it, and keeps what one user may have under way within limits.
import type { Clock } from '../../base/clock.ts';
import { once } from '../../base/once.ts';
import { EndingBody, untilGiven } from '../../wire/answer-end.ts';
import type { Classified, FlowControl } from '../flowcontrol/flow-control.ts';
import type { InFlight } from '../flowcontrol/in-flight.ts';
import { widthOf } from '../flowcontrol/request-width.ts';
import { type UserLimits, UserPlaces } from '../flowcontrol/user-limits.ts';
import { type ApiRequest, type ApiResponse, isPullBody, type PullBody } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import { isLongRunning, type RequestInfo } from '../request-info.ts';
import { textResponse } from '../response.ts';
import type { Filter, Next } from './filter.ts';

export interface FairnessDependencies {
  readonly flow: Pick<FlowControl, 'classify' | 'turn' | 'enter' | 'leave'>;
  readonly clock: Pick<Clock, 'timer' | 'monotonic'>;
  readonly limits: UserLimits;
  readonly running: InFlight;
  /** Another server does the work: it must not keep seats of this one. */
  isElsewhere(info: RequestInfo): boolean;
  /** How many objects of the resource there are. */
  count(info: RequestInfo): number;
}

/** Who finds no queue is in sooner. */
const leastWaitMs = 1;

async function entered(
  { flow, clock }: FairnessDependencies,
  classified: Classified,
  context: RequestContext,
  width: number,
): ReturnType<FlowControl['enter']> {
  const { user, info, audit } = context;
  if (audit === undefined) return flow.enter(classified, user, info, width, context);
  const arrived = clock.monotonic();
  const ticket = await flow.enter(classified, user, info, width, context);
  const waitedMs = clock.monotonic() - arrived;
  if (waitedMs >= leastWaitMs) audit.took('apf-queue-wait', waitedMs);
  return ticket;
}

/** As upstream's: a text, and when to come again. */
function tooMany(): ApiResponse {
  const response = textResponse(429, 'Too many requests, please try again later.\n');
  return { ...response, headers: { ...response.headers, 'retry-after': '1' } };
}

export function priorityAndFairnessFilter(dependencies: FairnessDependencies): Filter {
  const { flow, limits, count, clock, running, isElsewhere } = dependencies;
  const requests = new UserPlaces(limits.requests);
  const watches = new UserPlaces(limits.watches);
  const streams = new UserPlaces(limits.streams);
  return (next) => async (context) => {
    const { info, user } = context;
    const watch = info.isResource && info.verb === 'watch';
    const classified = flow.classify(user, info);
    // exec, log and the like last as long as their user wishes; as upstream they have no seat.
    if (!watch && isLongRunning(info)) {
      if (classified.level.exempt) return next(context);
      const release = streams.take(user.name);
      return release === undefined
        ? tooMany()
        : streamed(context, next, release, flow.turn(user, context.request));
    }
    if (classified.level.exempt) {
      const ended = running.begins(info.verb);
      try {
        return marked(await next(context), classified);
      } finally {
        ended();
      }
    }
    const place = requests.take(user.name);
    const watching = watch ? watches.take(user.name) : nothing;
    const width = widthOf(
      info,
      () => context.query,
      () => count(info),
    );
    const ticket = place && watching && (await entered(dependencies, classified, context, width));
    if (ticket === undefined || typeof ticket === 'string') {
      place?.();
      watching?.();
      return marked(tooMany(), classified);
    }
    const ended = running.begins(info.verb);
    let release = place;
    const delegated = isElsewhere(info);
    // It had to wait for its turn like others; from here on it costs this server next to nothing.
    if (delegated) flow.leave(classified, ticket);
    const leave = once(() => {
      ended();
      if (!delegated) flow.leave(classified, ticket);
      release?.();
    });
    let handedOn = false;
    try {
      const response = await next(context);
      const { body } = response;
      if (body === undefined || !isPullBody(body)) {
        if (isLarge(body)) release = () => whenTaken(context.request, place!);
        return marked(response, classified);
      }
      handedOn = true;
      // It is made while it is read: until then it has its seats.
      if (!watch) return marked({ ...response, body: withDeadline(body, context, clock, leave) }, classified);
      leaveWhenInitialized(body, context, clock, leave);
      return marked({ ...response, body: new EndingBody(body, watching!) }, classified);
    } finally {
      if (!handedOn) {
        leave();
        watching?.();
      }
    }
  };
}

/**
 * As upstream, a watch has its seats until what it begins with is sent, so that few of a flow begin at a time. Who reads
 * it slowly has them no longer than for another answer. Its place among its user's watches it has until its end.
 */
function leaveWhenInitialized(
  { initialized }: PullBody,
  { timeLimitMs }: RequestContext,
  clock: Pick<Clock, 'timer'>,
  leave: () => void,
): void {
  if (initialized === undefined) {
    leave();
    return;
  }
  const cancel = clock.timer(timeLimitMs, leave);
  void initialized.then(() => {
    cancel();
    leave();
  });
}

/** What is smaller is taken by the kernel, or soon given up. */
const largeBytes = 64 * 1024;

function isLarge(body: Buffer | readonly Buffer[] | undefined): boolean {
  if (body === undefined) return false;
  if (Buffer.isBuffer(body)) return body.length >= largeBytes;
  return body.reduce((sum, { length }) => sum + length, 0) >= largeBytes;
}

/** What its client has not taken is in memory, and has its place among its user's requests until it is gone. */
function whenTaken({ user, signal }: ApiRequest, release: () => void): void {
  // Who asks in this process has it.
  if (user !== undefined || signal.aborted) release();
  else signal.addEventListener('abort', release, { once: true });
}

/** exec, log and the like have their place among their user's streams until their end. */
async function streamed(
  context: RequestContext,
  next: Next,
  release: () => void,
  turn: Promise<void> | undefined,
): Promise<ApiResponse> {
  try {
    if (turn !== undefined) await turn;
    return untilGiven(context.request, await next(context), release);
  } catch (error) {
    release();
    throw error;
  }
}

const nothing = (): void => {};

/** A reader who takes a little now and then must not keep seats: after the request's time the answer is cut. */
function withDeadline(
  body: PullBody,
  { timeLimitMs }: RequestContext,
  clock: Pick<Clock, 'timer'>,
  ended: () => void,
): PullBody {
  let late = false;
  let waiting: (() => void) | undefined;
  const wake = (): void => {
    const call = waiting;
    waiting = undefined;
    call?.();
  };
  const cancel = clock.timer(timeLimitMs, () => {
    late = true;
    ended();
    // What it holds is given up, and who waits for a piece that does not come is cut, too.
    body.close();
    wake();
  });
  const whole = new EndingBody(body, () => {
    cancel();
    ended();
  });
  return {
    stallMs: whole.stallMs,
    close: () => whole.close(),
    pull(maxBytes) {
      if (late) throw new Error(`the answer was not read within ${timeLimitMs / 1000} s`);
      return whole.pull(maxBytes);
    },
    onReady(callback) {
      waiting = callback;
      if (late) wake();
      else body.onReady(wake);
    },
  };
}

/** Which schema and level it was, by uid as upstream says it. */
function marked(response: ApiResponse, { schema, level }: Classified): ApiResponse {
  const uids = {
    'x-kubernetes-pf-flowschema-uid': schema.metadata.uid ?? '',
    'x-kubernetes-pf-prioritylevel-uid': level.uid,
  };
  if (Object.isFrozen(response.headers)) return { ...response, headers: { ...response.headers, ...uids } };
  Object.assign(response.headers, uids);
  return response;
}
