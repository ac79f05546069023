// Public door: the types of the Kubernetes API and the handles that a client takes.

export * from '../api/generated/resources.ts';
export type {
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../api/generated/types/admissionregistration-v1.ts';
export type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
} from '../api/generated/types/apiextensions-v1.ts';
export type * from '../api/generated/types/apps-v1.ts';
export type * from '../api/generated/types/autoscaling-v2.ts';
export type * from '../api/generated/types/batch-v1.ts';
export type * from '../api/generated/types/coordination-v1.ts';
export type * from '../api/generated/types/core-v1.ts';
export type { EndpointSlice } from '../api/generated/types/discovery-v1.ts';
export type { Condition, LabelSelector, ObjectMeta, OwnerReference } from '../api/generated/types/meta-v1.ts';
export type * from '../api/generated/types/networking-v1.ts';
export type * from '../api/generated/types/policy-v1.ts';
export type * from '../api/generated/types/rbac-v1.ts';
export type * from '../api/generated/types/scheduling-v1.ts';
export type * from '../api/generated/types/storage-v1.ts';
export { isStatusError, StatusError } from '../apimachinery/errors.ts';
export type { ResourceRef } from '../apimachinery/resource-ref.ts';
