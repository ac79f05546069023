// Answers as values: objects, statuses and plain texts.
import type { JsonObject } from '../apimachinery/declaration.ts';
import type { StatusDetails } from '../apimachinery/errors.ts';
import { internalError, notAcceptable, StatusError, tooLargeBody } from '../apimachinery/errors.ts';
import { type AnsweredRequest, encodeAnswer, indentedJson, type ProtobufEncoder } from './encode-answer.ts';
import type { ApiBody, ApiResponse } from './http.ts';
import { BodyTooLargeError } from './http.ts';
import { accepted, contentTypes } from './negotiation.ts';

const jsonType = 'application/json';

/** A request, and what encodes its answer. */
type Answered = AnsweredRequest & { readonly protobuf: ProtobufEncoder | undefined };

export const bytesResponse = (
  status: number,
  body: ApiBody,
  contentType: string = jsonType,
): ApiResponse => ({
  status,
  headers: { 'cache-control': 'no-cache, private', 'content-type': contentType },
  body,
});

/** What has one form only, as upstream writes it whatever is asked for. */
export const indentedResponse = (status: number, object: unknown): ApiResponse =>
  bytesResponse(status, indentedJson(object));

/** An object that has no forms but itself. undefined: the client takes none of its media types. */
function negotiatedResponse(context: Answered, status: number, object: JsonObject): ApiResponse | undefined {
  const negotiated = accepted(context.header('accept'), 'plain');
  const bytes = negotiated && encodeAnswer(context, negotiated, object, context.protobuf);
  return bytes && bytesResponse(status, bytes, contentTypes[negotiated.mediaType]);
}

/** Throws 406. */
export function documentResponse(context: Answered, object: JsonObject): ApiResponse {
  const response = negotiatedResponse(context, 200, object);
  if (response === undefined) throw notAcceptable(Object.values(contentTypes));
  return response;
}

export const textResponse = (status: number, text: string): ApiResponse => ({
  status,
  headers: {
    'cache-control': 'no-cache, private',
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  },
  body: Buffer.from(text),
});

const escaped: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** As upstream tells what broke before there was anybody to answer in the API's form. */
export function internalErrorText(url: string, why: string): ApiResponse {
  const text = `Internal Server Error: ${JSON.stringify(url)}: ${why}\n`;
  return textResponse(
    500,
    text.replace(/[&<>]/g, (c) => escaped[c]!),
  );
}

/** What Go's http.NotFound says of a path that nobody serves. */
export const notFoundPage = (): ApiResponse => textResponse(404, '404 page not found\n');

/** Go leaves empty strings out. */
function cleanDetails(details: StatusDetails): StatusDetails {
  return Object.fromEntries(
    Object.entries(details).filter(([, value]) => value !== '' && value !== undefined && value !== 0),
  ) as StatusDetails;
}

export function statusObject(error: StatusError): JsonObject {
  const { details, ...rest } = error.status;
  if (details === undefined) return rest;
  const { code, ...head } = rest;
  return { ...head, details: cleanDetails(details) as JsonObject, code };
}

export function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof BodyTooLargeError) return tooLargeBody(error.limit);
  return internalError(error);
}

/** As the client takes it; who takes nothing of it gets JSON: a failure must not hide behind its form. */
export function errorResponse(context: Answered, error: StatusError): ApiResponse {
  const status = statusObject(error);
  const response = negotiatedResponse(context, error.code, status) ?? indentedResponse(error.code, status);
  const retry = error.status.details?.retryAfterSeconds;
  return retry ? { ...response, headers: { ...response.headers, 'retry-after': String(retry) } } : response;
}

/** Who may not: a browser shall not take it for anything else. */
export function forbiddenResponse(context: Answered, error: StatusError): ApiResponse {
  const response = errorResponse(context, error);
  return { ...response, headers: { ...response.headers, 'x-content-type-options': 'nosniff' } };
}
