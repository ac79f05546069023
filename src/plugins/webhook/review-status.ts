// What somebody else says in the status of a review, held to its type: a `denied` that is a text is a fault, and no `false`.
import { builtInPlans } from '../../api/built-in-plans.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { status } from '../../apimachinery/json-access.ts';
import { decodeObject } from '../../apimachinery/schema-decode.ts';
import { ReviewError } from './remote-reviewer.ts';

/** Their older versions have the same status. */
const types = {
  SubjectAccessReview: 'io.k8s.api.authorization.v1.SubjectAccessReview',
  TokenReview: 'io.k8s.api.authentication.v1.TokenReview',
} as const;

/** Throws ReviewError. */
export function reviewStatus(kind: keyof typeof types, answer: JsonObject): JsonObject {
  const read: JsonObject = { status: answer['status'] ?? {} };
  try {
    decodeObject(builtInPlans(), types[kind], read, { defaults: false });
  } catch (error) {
    throw new ReviewError(error, 'error');
  }
  return status(read);
}
