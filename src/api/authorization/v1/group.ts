// Reviews of authorization.k8s.io/v1: answered, never stored.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
} from '../../generated/types/authorization-v1.ts';

export const authorizationV1: GroupBehaviours<{
  localsubjectaccessreviews: LocalSubjectAccessReview;
  selfsubjectaccessreviews: SelfSubjectAccessReview;
  selfsubjectrulesreviews: SelfSubjectRulesReview;
  subjectaccessreviews: SubjectAccessReview;
}> = {
  localsubjectaccessreviews: { virtual: true },
  selfsubjectaccessreviews: { virtual: true },
  selfsubjectrulesreviews: { virtual: true },
  subjectaccessreviews: { virtual: true },
};
