// Remembers for a while what was found out about a token, where that was dear; the same question is asked once at a time.
import type {
  TokenAuthenticator,
  TokenVerdict,
} from '../../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../../base/clock.ts';
import { sha256Hex } from '../../../crypto/digests.ts';

interface Known {
  readonly verdict: TokenVerdict;
  readonly untilMs: number;
}

const maxKnown = 4096;

export function cachedTokens(
  tokens: TokenAuthenticator,
  { clock, ttlMs }: { readonly clock: Clock; readonly ttlMs: (verdict: TokenVerdict) => number },
): TokenAuthenticator {
  const known = new Map<string, Known>();
  const asking = new Map<string, Promise<TokenVerdict | undefined>>();
  const remember = (key: string, verdict: TokenVerdict | undefined): void => {
    const ttl = verdict === undefined ? 0 : ttlMs(verdict);
    if (verdict === undefined || ttl <= 0) return;
    if (known.size >= maxKnown) known.clear();
    known.set(key, { verdict, untilMs: clock.monotonic() + ttl });
  };
  return {
    authenticateToken(token, audiences) {
      // What lies in memory says nothing of the tokens.
      const key = sha256Hex(JSON.stringify([token, audiences]));
      const found = known.get(key);
      if (found !== undefined && found.untilMs > clock.monotonic()) return found.verdict;
      known.delete(key);
      const before = asking.get(key);
      if (before !== undefined) return before;
      const answer = Promise.resolve(tokens.authenticateToken(token, audiences))
        .then((verdict) => {
          remember(key, verdict);
          return verdict;
        })
        .finally(() => asking.delete(key));
      asking.set(key, answer);
      return answer;
    },
  };
}
