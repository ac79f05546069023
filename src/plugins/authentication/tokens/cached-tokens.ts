// Remembers for a while what was found out about a token, where that was dear; the same question is asked once at a time.
import type {
  TokenAuthenticator,
  TokenVerdict,
} from '../../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../../base/clock.ts';
import { KeptAnswers } from '../../../base/kept-answers.ts';
import { WaitingRoom } from '../../../base/waiting-room.ts';
import { sha256Hex } from '../../../crypto/digests.ts';
import type { TokenCacheMetrics } from './token-cache-metrics.ts';

/** Of the texts of tokens that are asked about: anybody can make them up, and whoever knows them may be slow. */
const askedRoom = 16 << 20;
/** Who vouches for a user says how many groups there are. */
const bounds = { most: 4096, room: 16 << 20, longest: 256 << 10 };

interface Options {
  readonly clock: Clock;
  readonly ttlMs: (verdict: TokenVerdict) => number;
  readonly metrics: TokenCacheMetrics;
}

/** Counts what is under way. */
function underWay({ active }: TokenCacheMetrics, status: 'in_flight' | 'blocked') {
  let count = 0;
  const by = (n: number): void => {
    count += n;
    active.set({ status }, count);
  };
  return { begins: () => by(1), ends: () => by(-1) };
}

const requestCount =
  ({ requests, durations }: TokenCacheMetrics, clock: Clock) =>
  (status: 'hit' | 'miss', began: number): void => {
    requests.inc({ status });
    durations.observe({ status }, (clock.monotonic() - began) / 1000);
  };

export function cachedTokens(
  tokens: TokenAuthenticator,
  { clock, ttlMs, metrics }: Options,
): TokenAuthenticator {
  const known = new KeptAnswers<TokenVerdict>(bounds);
  const asking = new Map<string, Promise<TokenVerdict | undefined>>();
  const waiting = new WaitingRoom(askedRoom);
  const fetching = underWay(metrics, 'in_flight');
  const blocked = underWay(metrics, 'blocked');
  const remember = (key: string, verdict: TokenVerdict | undefined): void => {
    const ttl = verdict === undefined ? 0 : ttlMs(verdict);
    if (verdict === undefined || ttl <= 0) return;
    const { length } = JSON.stringify(verdict);
    known.put(key, verdict, { length, untilMs: clock.monotonic() + ttl });
  };
  const ask = async (
    key: string,
    token: string,
    audiences: readonly string[],
  ): Promise<TokenVerdict | undefined> => {
    let status = 'error';
    fetching.begins();
    try {
      const verdict = await tokens.authenticateToken(token, audiences);
      remember(key, verdict);
      if (verdict === undefined || 'user' in verdict) status = 'ok';
      return verdict;
    } finally {
      fetching.ends();
      metrics.fetches.inc({ status });
    }
  };
  const counted = requestCount(metrics, clock);
  const waitFor = async (
    answer: Promise<TokenVerdict | undefined>,
    began: number,
  ): Promise<TokenVerdict | undefined> => {
    blocked.begins();
    try {
      return await answer;
    } finally {
      blocked.ends();
      counted('miss', began);
    }
  };
  return {
    authenticateToken(token, audiences) {
      const began = clock.monotonic();
      // What lies in memory says nothing of the tokens.
      const key = sha256Hex(JSON.stringify([token, audiences]));
      const found = known.get(key, began);
      if (found !== undefined) {
        counted('hit', began);
        return found;
      }
      let answer = asking.get(key);
      if (answer === undefined) {
        const leave = waiting.enter(token.length);
        if (leave === undefined) return { refused: 'too many tokens are asked about' };
        answer = ask(key, token, audiences).finally(() => {
          asking.delete(key);
          leave();
        });
        asking.set(key, answer);
      }
      return waitFor(answer, began);
    },
  };
}
