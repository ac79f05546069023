// How a webhook can fail, and what the request's user is told of it.
import { badRequest, internalError, type Status, StatusError } from '../../../apimachinery/errors.ts';
import type { Webhook } from './webhook.ts';

/** It could not be asked, or its answer was none: `failurePolicy` says what becomes of the request. */
export class CallingWebhookError extends Error {
  /** For metrics. */
  readonly code: number;
  constructor(webhook: Webhook, why: string, code: number, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(webhook.name)}: ${why}`, options);
    this.code = code;
  }
}

/** It was asked, and says no. */
export class WebhookRejection extends Error {
  readonly status: StatusError;
  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

/** No status line has more, and Node writes none. */
const maxStatusCode = 599;

/** What a webhook says of its refusal, as far as a refusal can say it. */
export function rejectionBy(webhook: Webhook, said: Partial<Status> = {}): WebhookRejection {
  const { message = '', reason = '', details, code = 0 } = said;
  const denied = `admission webhook ${JSON.stringify(webhook.name)} denied the request`;
  const why = message || reason;
  return new WebhookRejection(
    new StatusError(
      Math.min(Math.max(code, 400), maxStatusCode),
      reason,
      why === '' ? `${denied} without explanation` : `${denied}: ${why}`,
      details,
    ),
  );
}

export const dryRunUnsupported = ({ name }: Webhook): StatusError =>
  badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);

export const tooLate = (): StatusError =>
  new StatusError(504, 'Timeout', 'Timeout: request did not complete within requested timeout', {});

/** What a failure is to the user, when the request must not go on. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof WebhookRejection) return error.status;
  return error instanceof CallingWebhookError ? internalError(error) : error;
}

const generic: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

const maxShownBytes = 2048;

/** As upstream's client tells of an answer that is no success. */
export function statusText(code: number, contentType: string, body: Buffer): string {
  const isText = contentType === '' || contentType.startsWith('text/');
  const said = isText ? body.subarray(0, maxShownBytes).toString().trim() : 'unknown';
  if (code === 403) return said;
  const known = generic[code];
  if (known !== undefined) return known;
  if (code >= 500)
    return `an error on the server (${JSON.stringify(said)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more details`;
}
