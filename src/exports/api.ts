// Public door: the types of the Kubernetes API and the handles that a client takes.

export * from '../api/generated/resources.ts';
export type * from '../api/generated/types/apps-v1.ts';
export type * from '../api/generated/types/batch-v1.ts';
export type * from '../api/generated/types/core-v1.ts';
export type { LabelSelector, ObjectMeta, OwnerReference } from '../api/generated/types/meta-v1.ts';
export { isStatusError, StatusError } from '../apimachinery/errors.ts';
export type { ResourceRef } from '../apimachinery/resource-ref.ts';
