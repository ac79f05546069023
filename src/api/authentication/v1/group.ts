// Reviews of authentication.k8s.io/v1: answered, never stored.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { SelfSubjectReview, TokenReview } from '../../generated/types/authentication-v1.ts';

export const authenticationV1: GroupBehaviours<{
  selfsubjectreviews: SelfSubjectReview;
  tokenreviews: TokenReview;
}> = {
  selfsubjectreviews: { virtual: true },
  tokenreviews: { virtual: true },
};
