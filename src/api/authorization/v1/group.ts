// Reviews of authorization.k8s.io/v1: answered, never stored.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';

export const authorizationV1: GroupBehaviours = {
  localsubjectaccessreviews: { virtual: true },
  selfsubjectaccessreviews: { virtual: true },
  selfsubjectrulesreviews: { virtual: true },
  subjectaccessreviews: { virtual: true },
};
