// Answers as values: objects, statuses and plain texts.
import type { StatusDetails } from '../apimachinery/errors.ts';
import { internalError, StatusError, tooLargeBody } from '../apimachinery/errors.ts';
import type { ApiBody, ApiResponse } from './http.ts';
import { BodyTooLargeError } from './http.ts';

const jsonType = 'application/json';

export const bytesResponse = (
  status: number,
  body: ApiBody,
  contentType: string = jsonType,
): ApiResponse => ({
  status,
  headers: { 'cache-control': 'no-cache, private', 'content-type': contentType },
  body,
});

/** Compact JSON with the line end that Go's encoder writes. */
export const jsonResponse = (status: number, object: unknown): ApiResponse =>
  bytesResponse(status, Buffer.from(`${JSON.stringify(object)}\n`));

export const textResponse = (status: number, text: string): ApiResponse => ({
  status,
  headers: {
    'cache-control': 'no-cache, private',
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  },
  body: Buffer.from(text),
});

/** What Go's http.NotFound says of a path that nobody serves. */
export const notFoundPage = (): ApiResponse => textResponse(404, '404 page not found\n');

/** Go leaves empty strings out. */
function cleanDetails(details: StatusDetails): StatusDetails {
  return Object.fromEntries(
    Object.entries(details).filter(([, value]) => value !== '' && value !== undefined && value !== 0),
  ) as StatusDetails;
}

export function statusObject(error: StatusError): object {
  const { details, ...rest } = error.status;
  if (details === undefined) return rest;
  const { code, ...head } = rest;
  return { ...head, details: cleanDetails(details), code };
}

export function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof BodyTooLargeError) return tooLargeBody(error.limit);
  return internalError(error);
}

export function errorResponse(error: StatusError): ApiResponse {
  const response = jsonResponse(error.code, statusObject(error));
  const retry = error.status.details?.retryAfterSeconds;
  return retry ? { ...response, headers: { ...response.headers, 'retry-after': String(retry) } } : response;
}
