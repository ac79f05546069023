// StatusError from a response that is not a success: the server's own Status, or what client-go says without one.
import type { Status } from '../apimachinery/errors.ts';
import { StatusError, statusErrorFrom } from '../apimachinery/errors.ts';

const genericByCode: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  403: ['Forbidden', ''],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  406: ['NotAcceptable', 'the server was unable to respond with a content type that the client supports'],
  409: ['Conflict', 'the server reported a conflict'],
  410: ['Gone', 'the server no longer has the requested resource'],
  415: ['UnsupportedMediaType', 'the server was unable to process the media type of the request'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'an error on the server has prevented the request from succeeding'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be processing the request',
  ],
};

function asStatus(text: string): Partial<Status> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status')
      return value as Partial<Status>;
  } catch {
    return undefined;
  }
  return undefined;
}

export function responseError(code: number, body: Buffer): StatusError {
  const text = body.toString('utf8');
  const status = asStatus(text);
  if (status !== undefined) return statusErrorFrom({ ...status, code: status.code ?? code });
  const [reason, message] = genericByCode[code] ?? [
    'Unknown',
    `the server responded with the status code ${code} but did not return more information`,
  ];
  const excerpt = text.trim().slice(0, 2048);
  return new StatusError(code, reason, code === 403 ? excerpt : message, {
    causes: excerpt === '' ? [] : [{ reason: 'UnexpectedServerResponse', message: excerpt }],
  });
}
