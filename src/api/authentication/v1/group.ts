// Reviews of authentication.k8s.io/v1: answered, never stored.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';

export const authenticationV1: GroupBehaviours = {
  selfsubjectreviews: { virtual: true },
  tokenreviews: { virtual: true },
};
