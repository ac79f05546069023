// Lets a request in when its priority level has seats for it, and keeps what one user may have under way within limits.
import type { Clock } from '../../base/clock.ts';
import type { Classified, FlowControl } from '../flowcontrol/flow-control.ts';
import type { InFlight } from '../flowcontrol/in-flight.ts';
import { widthOf } from '../flowcontrol/request-width.ts';
import { UserCounts, type UserLimits } from '../flowcontrol/user-limits.ts';
import { type ApiResponse, isPullBody, type PullBody } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';
import { textResponse } from '../response.ts';
import type { Filter, Next } from './filter.ts';

const lastingSubresources: readonly string[] = ['proxy', 'exec', 'attach', 'portforward', 'log'];

/** Upstream's BasicLongRunningRequestCheck. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.isResource && (info.verb === 'watch' || lastingSubresources.includes(info.subresource));

/** Upstream's --request-timeout: what is no watch and no stream takes no longer, however slowly its answer is read. */
const requestTimeoutMs = 60_000;

export interface FairnessDependencies {
  readonly flow: Pick<FlowControl, 'classify' | 'enter' | 'leave'>;
  readonly clock: Pick<Clock, 'timer'>;
  readonly limits: UserLimits;
  readonly running: InFlight;
  /** How many objects of the resource there are. */
  count(info: RequestInfo): number;
}

/** As upstream's: a text, and when to come again. */
function tooMany(): ApiResponse {
  const response = textResponse(429, 'Too many requests, please try again later.\n');
  return { ...response, headers: { ...response.headers, 'retry-after': '1' } };
}

export function priorityAndFairnessFilter(dependencies: FairnessDependencies): Filter {
  const { flow, limits, count, clock, running } = dependencies;
  const requests = new UserCounts(limits.requests);
  const watches = new UserCounts(limits.watches);
  const streams = new UserCounts(limits.streams);
  return (next) => async (context) => {
    const { info, user } = context;
    const watch = info.isResource && info.verb === 'watch';
    const classified = flow.classify(user, info);
    // exec, log and the like last as long as their user wishes; as upstream they have no seat.
    if (!watch && isLongRunning(info))
      return classified.level.exempt ? next(context) : streamed(context, next, streams);
    if (classified.level.exempt) {
      const ended = running.begins(info.verb);
      try {
        return marked(await next(context), classified);
      } finally {
        ended();
      }
    }
    if (!requests.take(user.name)) return marked(tooMany(), classified);
    const width = widthOf(
      info,
      () => context.query,
      () => count(info),
    );
    const ticket = await flow.enter(classified, user, info, width, context.request.signal);
    if (typeof ticket === 'string') {
      requests.release(user.name);
      return marked(tooMany(), classified);
    }
    const ended = running.begins(info.verb);
    const leave = once(() => {
      ended();
      flow.leave(classified.level, ticket);
      requests.release(user.name);
    });
    let handedOn = false;
    try {
      const response = watch ? await watched(context, next, watches) : await next(context);
      const { body } = response;
      if (watch || body === undefined || !isPullBody(body)) return marked(response, classified);
      // It is made while it is read: until then it has its seats.
      handedOn = true;
      return marked({ ...response, body: withDeadline(body, clock, leave) }, classified);
    } finally {
      if (!handedOn) leave();
    }
  };
}

/** A watch has its seats only until it has begun, but its place among its user's watches until its end. */
async function watched(context: RequestContext, next: Next, watches: UserCounts): Promise<ApiResponse> {
  const { name } = context.user;
  if (!watches.take(name)) return tooMany();
  const release = once(() => watches.release(name));
  let begun = false;
  try {
    const response = await next(context);
    if (response.body === undefined || !isPullBody(response.body)) return response;
    begun = true;
    return { ...response, body: withEnd(response.body, release) };
  } finally {
    if (!begun) release();
  }
}

/** exec, log and the like have their place among their user's streams until their end. */
async function streamed(context: RequestContext, next: Next, streams: UserCounts): Promise<ApiResponse> {
  const { name } = context.user;
  if (!streams.take(name)) return tooMany();
  const release = once(() => streams.release(name));
  let lasts = false;
  try {
    const response = await next(context);
    const { upgrade } = context.request;
    if (response.hijacked === true && upgrade !== undefined) {
      lasts = !upgrade.socket.destroyed;
      upgrade.socket.once('close', release);
      return response;
    }
    if (response.body === undefined || !isPullBody(response.body)) return response;
    lasts = true;
    return { ...response, body: withEnd(response.body, release) };
  } finally {
    if (!lasts) release();
  }
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}

/** The same body; `ended` is called when it has been read or given up. */
function withEnd(body: PullBody, ended: () => void): PullBody {
  return {
    pull(maxBytes) {
      const bytes = body.pull(maxBytes);
      if (bytes === null) ended();
      return bytes;
    },
    onReady: (callback) => body.onReady(callback),
    close() {
      ended();
      body.close();
    },
    ...(body.stallMs === undefined ? {} : { stallMs: body.stallMs }),
  };
}

/** A reader who takes a little now and then must not keep seats: after the request's time the answer is cut. */
function withDeadline(body: PullBody, clock: Pick<Clock, 'timer'>, ended: () => void): PullBody {
  let late = false;
  let waiting: (() => void) | undefined;
  const wake = (): void => {
    const call = waiting;
    waiting = undefined;
    call?.();
  };
  const cancel = clock.timer(requestTimeoutMs, () => {
    late = true;
    ended();
    // What it holds is given up, and who waits for a piece that does not come is cut, too.
    body.close();
    wake();
  });
  const whole = withEnd(body, () => {
    cancel();
    ended();
  });
  return {
    ...whole,
    pull(maxBytes) {
      if (late) throw new Error(`the answer was not read within ${requestTimeoutMs / 1000} s`);
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
