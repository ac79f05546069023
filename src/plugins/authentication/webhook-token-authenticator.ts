// Tokens that a service of somebody else knows: it is sent a TokenReview, and what it says holds for a while.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { bool, obj, str, strs } from '../../apimachinery/json-access.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { RemoteReviewer } from '../webhook/remote-reviewer.ts';
import { reviewStatus } from '../webhook/review-status.ts';

export interface WebhookTokenOptions {
  readonly reviewer: RemoteReviewer;
  readonly version: 'v1' | 'v1beta1';
  /** Those that a token is for whose review names none. */
  readonly apiAudiences: readonly string[];
}

function userOf(user: JsonObject): UserInfo {
  const extra = Object.entries(obj(user.extra)).map(([key, values]) => [key, strs(values)] as const);
  return {
    name: str(user.username),
    ...(str(user.uid) === '' ? {} : { uid: str(user.uid) }),
    groups: strs(user.groups),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

export function createWebhookTokenAuthenticator(options: WebhookTokenOptions): TokenAuthenticator {
  const { reviewer, version, apiAudiences } = options;
  const review = async (token: string, audiences: readonly string[]): Promise<TokenVerdict | undefined> => {
    const answer = reviewStatus(
      'TokenReview',
      await reviewer.review({
        kind: 'TokenReview',
        apiVersion: `authentication.k8s.io/${version}`,
        metadata: { creationTimestamp: null },
        spec: { token, audiences: [...audiences] },
        status: { user: {} },
      }),
    );
    if (!bool(answer.authenticated))
      return str(answer.error) === '' ? undefined : { refused: str(answer.error) };
    const named = strs(answer.audiences);
    // A service that knows nothing of audiences vouches for the API server's own.
    const good = (named.length > 0 ? named : apiAudiences).filter((one) => audiences.includes(one));
    return good.length === 0 ? undefined : { user: userOf(obj(answer.user)), audiences: good };
  };
  return {
    async authenticateToken(token, audiences) {
      try {
        return await review(token, audiences);
      } catch (error) {
        return { refused: (error as Error).message };
      }
    },
  };
}
