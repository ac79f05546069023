// One call of one webhook: what it is sent, what it answers, and what of that goes to the user and the audit log.

import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { CredentialsFor } from '../../../client/webhook-credentials.ts';
import type { AdmissionRequest } from '../admission.ts';
import { CallingWebhookError, dryRunUnsupported, rejectionBy, statusText, tooLate } from './failures.ts';
import type { Invocation } from './matcher.ts';
import { type AdmissionAnswer, readReview, verifiedAnswer } from './review-answer.ts';
import { reviewOf, reviewVersionOf } from './review-builder.ts';
import { UnusableAddressError, type WebhookClient } from './webhook-client.ts';

export interface WebhookObjects {
  /** In the version that the webhook sees. */
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

/** What all webhooks of a request may take together: upstream's requestTimeoutUpperBound. */
const requestMs = 34_000;

/** Headers have room for far fewer, and each one is compared with those before. */
const maxWarnings = 100;

interface Dependencies {
  readonly client: WebhookClient;
  readonly clock: Clock;
  readonly random: Random;
  /** As whom webhooks are asked. Default: as nobody. */
  readonly credentials?: CredentialsFor;
}

export class WebhookCaller {
  readonly #client: WebhookClient;
  readonly #clock: Clock;
  readonly #random: Random;
  /** When the time of a request is over. */
  readonly #deadlines: WeakMap<AdmissionRequest, number>;
  readonly #deps: Dependencies;

  constructor(deps: Dependencies, deadlines: WeakMap<AdmissionRequest, number> = new WeakMap()) {
    this.#deps = deps;
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#deadlines = deadlines;
  }

  /** The same, as somebody. What webhooks of a request take together stays one time. */
  as(credentials: CredentialsFor): WebhookCaller {
    return new WebhookCaller({ ...this.#deps, credentials }, this.#deadlines);
  }

  /** Milliseconds. Throws 504 when there are none, or nobody waits any more. */
  timeLeft(request: AdmissionRequest): number {
    const now = this.#clock.monotonic();
    const end = this.#deadlines.get(request) ?? now + requestMs;
    this.#deadlines.set(request, end);
    if (now >= end || request.signal.aborted) throw tooLate();
    return end - now;
  }

  /** Throws CallingWebhookError, WebhookRejection, or the StatusError of a dry run that it has no part in. */
  async call(
    request: AdmissionRequest,
    invocation: Invocation,
    objects: WebhookObjects,
    mutating: boolean,
  ): Promise<AdmissionAnswer> {
    const { webhook } = invocation;
    if (request.dryRun && !webhook.harmless) throw dryRunUnsupported(webhook);
    const version = reviewVersionOf(invocation);
    if (version === undefined)
      throw new CallingWebhookError(
        webhook,
        'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
        400,
      );
    const uid = this.#random.uuid();
    const review = await this.#reviewed(
      request,
      invocation,
      reviewOf(request, invocation, { uid, version, ...objects }),
      mutating ? 'mutating-webhook' : 'validating-webhook',
    );
    let answer: AdmissionAnswer;
    try {
      answer = verifiedAnswer(review, { uid, version, mutating });
    } catch (error) {
      throw new CallingWebhookError(
        webhook,
        `received invalid webhook response: ${(error as Error).message}`,
        503,
        { cause: error },
      );
    }
    for (const [key, value] of answer.annotations)
      if (qualifiedNameErrors(`${webhook.name}/${key}`).length === 0)
        request.annotate(`${webhook.name}/${key}`, value);
    for (const warning of answer.warnings.slice(0, maxWarnings)) request.warn(warning);
    if (!answer.allowed) throw rejectionBy(webhook, answer.result);
    return answer;
  }

  async #reviewed(
    request: AdmissionRequest,
    { webhook }: Invocation,
    body: string,
    layer: 'mutating-webhook' | 'validating-webhook',
  ): Promise<JsonObject> {
    const failed = (why: string, code: number, cause?: unknown): CallingWebhookError =>
      new CallingWebhookError(webhook, `failed to call webhook: ${why}`, code, { cause });
    const timeoutMs = Math.min(webhook.timeoutMs, this.timeLeft(request));
    const began = this.#clock.monotonic();
    try {
      const { signal } = request;
      const { credentials } = this.#deps;
      const answer = await this.#client.ask(webhook.client, { body, timeoutMs, signal, credentials });
      const { status, contentType } = answer;
      if (status < 200 || status > 206) throw failed(statusText(status, contentType, answer.body), status);
      return readReview(answer.body, status, contentType);
    } catch (error) {
      if (error instanceof CallingWebhookError) throw error;
      if (error instanceof UnusableAddressError)
        throw new CallingWebhookError(webhook, `could not get REST client: ${error.message}`, 500, {
          cause: error,
        });
      throw failed((error as Error).message, 503, error);
    } finally {
      request.took?.(layer, this.#clock.monotonic() - began);
    }
  }
}
