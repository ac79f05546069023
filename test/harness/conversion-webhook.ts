// A conversion webhook as people write them, behind the HTTPS server of admission webhooks: it converts as its test says.
import type { AskedWebhook, WebhookAnswer, WebhookServer } from './webhook-server.ts';

export type Converted = Record<string, unknown>;

/** What a review asks for. */
export interface AskedConversion {
  readonly uid: string;
  readonly desiredAPIVersion: string;
  readonly objects: readonly Converted[];
}

export const conversionAsked = ({ request }: AskedWebhook): AskedConversion =>
  request as unknown as AskedConversion;

/** A review with this response, in the version that was asked with. */
export function conversionAnswer(apiVersion: string, response: unknown): WebhookAnswer {
  return (to) => {
    to.setHeader('content-type', 'application/json');
    to.end(JSON.stringify({ kind: 'ConversionReview', apiVersion, response }));
  };
}

/** Answers reviews at `path` with what `convert` makes of each object. */
export function answerConversions(
  server: WebhookServer,
  path: string,
  convert: (object: Converted, apiVersion: string) => unknown,
): void {
  server.answers.set(path, (asked) => {
    const { uid, objects, desiredAPIVersion } = conversionAsked(asked);
    return conversionAnswer(asked.apiVersion, {
      uid,
      convertedObjects: objects.map((object) => convert(structuredClone(object), desiredAPIVersion)),
      result: { status: 'Success' },
    });
  });
}
