// Rounds of a request against the server and its floor in turn; the least of each counts.
import type { Measurement } from '../bench.ts';
import type { LoadResult, Requests, Target } from './load-job.ts';
import { load } from './servers.ts';

export interface Contest {
  readonly what: string;
  readonly aim?: number;
  readonly rounds?: number;
  readonly server: Target;
  readonly floor?: { readonly what: string; readonly target: Target; readonly work: Requests };
  readonly work: Requests;
  readonly unit?: 'µs' | 'ms';
}

/** CPU of the server process for one request, beside the floor's. Numbers of requests go on from round to round. */
export async function cpuPerRequest(contest: Contest): Promise<Measurement> {
  const { work, floor } = contest;
  const perUnit = contest.unit === 'ms' ? 1_000 : 1;
  const cost = ({ cpuMicros, count }: LoadResult): number => cpuMicros / count / perUnit;
  let value = Number.POSITIVE_INFINITY;
  let bare = Number.POSITIVE_INFINITY;
  for (let round = 0; round < (contest.rounds ?? 4); round++) {
    const from = (work.from ?? 0) + round * work.total;
    value = Math.min(value, cost(await load(contest.server, { ...work, from })));
    if (floor) bare = Math.min(bare, cost(await load(floor.target, { ...floor.work, from })));
  }
  return {
    what: contest.what,
    value,
    unit: contest.unit ?? 'µs',
    ...(floor ? { floor: { what: floor.what, value: bare } } : {}),
    ...(contest.aim === undefined ? {} : { aim: { value: contest.aim } }),
  };
}
