// The object of an admission request as the type of its kind, when the request is about that kind.
import { meta } from '../../../apimachinery/json-access.ts';
import type { ResourceRef } from '../../../apimachinery/resource-ref.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';

export const isAbout = (request: AdmissionRequest, resource: ResourceRef, subresource = ''): boolean =>
  request.declaration.resource === resource.resource &&
  request.declaration.group === resource.group &&
  request.subresource === subresource;

/** The new object, to be changed in place; undefined when the request is about something else. */
export function requested<T>(
  request: AdmissionRequest,
  resource: ResourceRef<T>,
  subresource = '',
): T | undefined {
  return request.object !== undefined && isAbout(request, resource, subresource)
    ? (request.object as unknown as T)
    : undefined;
}

/** The object before the request. */
export const previous = <T>(request: AdmissionRequest, _resource: ResourceRef<T>): T | undefined =>
  request.oldObject as unknown as T | undefined;

/** Whether an update changes what is wanted of the object: its generation counts that. */
export const hasNewSpec = ({ object, oldObject }: AdmissionRequest): boolean =>
  meta(object ?? {})['generation'] !== meta(oldObject ?? {})['generation'];
