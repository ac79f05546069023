// A refusal in the words of an admission plugin, about the object of the request.
import { forbidden, type StatusError } from '../../../apimachinery/errors.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';

export const refusal = (request: AdmissionRequest, why: string): StatusError =>
  forbidden(request.declaration, request.name, why);
export const refuse = (request: AdmissionRequest, why: string): never => {
  throw refusal(request, why);
};
export const quote = (text: string): string => JSON.stringify(text);
