// Asks a definition's conversion webhook to turn objects into another of its versions, and believes as little of the
// answer as upstream does.
import type { Convertible, Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { StatusError } from '../../../apimachinery/errors.ts';
import { isObject, str } from '../../../apimachinery/json-access.ts';
import { parseJsonText, parseJsonTextSteps } from '../../../apimachinery/serializer/json-text.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import { inTurns, type Turns } from '../../../base/turns.ts';
import type { MetricsRegistry } from '../../../component-base/metrics.ts';
import { statusText } from '../../admission/webhook/failures.ts';
import type { WebhookAddress, WebhookClient } from '../../admission/webhook/webhook-client.ts';
import { heavyBytes } from '../../request-context.ts';
import { type ConversionFailure, type ConversionMetrics, conversionMetrics } from './conversion-metrics.ts';
import { conversionReview, conversionReviewVersion, convertedObjectsIn } from './conversion-review.ts';
import { readConverted, restoreMetadata, UnfitConversion } from './converted-object.ts';

export interface ConversionDeps {
  readonly client: WebhookClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: MetricsRegistry;
  /** Where long answers are read in turns. */
  readonly turns: Turns;
}

/** What a definition says of its conversions. */
export interface ConversionRules {
  /** Its name. */
  readonly definition: string;
  readonly group: string;
  /** All of them, served or not. */
  readonly versions: readonly string[];
  readonly address: WebhookAddress;
  readonly reviewVersions: readonly string[];
}

/** As upstream's client of all webhooks. */
const timeoutMs = 30_000;

/** As upstream: an error of the server that has no reason, and says what the webhook did. */
const failure = (message: string): StatusError => new StatusError(500, '', message);

const versionText = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

/** What one call of the webhook is about. */
interface Question {
  readonly objects: readonly Convertible[];
  readonly apiVersion: string;
  /** The kind of the first, as upstream's errors name it. */
  readonly about: string;
}

export class WebhookConverter {
  readonly #deps: ConversionDeps;
  readonly #metrics: ConversionMetrics;
  readonly #rules: ConversionRules;
  readonly #known: ReadonlySet<string>;

  constructor(deps: ConversionDeps, rules: ConversionRules) {
    this.#deps = deps;
    this.#metrics = conversionMetrics(deps.metrics);
    this.#rules = rules;
    this.#known = new Set(rules.versions.map((version) => `${rules.group}/${version}`));
  }

  /** In the same order; those that are of the version are answered as they are, and nobody is asked. Throws StatusError. */
  async convert(objects: readonly Convertible[], apiVersion: string): Promise<readonly JsonObject[]> {
    for (const { object } of objects) this.#assertKnown(str(object['apiVersion']));
    const others = objects.filter(({ object }) => object['apiVersion'] !== apiVersion);
    const [first] = others;
    if (first === undefined) return objects.map(({ object }) => object);
    const from = str(first.object['apiVersion']);
    const about = `${from}, Kind=${str(first.object['kind'])}`;
    const { clock } = this.#deps;
    const start = clock.monotonic();
    let succeeded = false;
    try {
      const converted = await this.#ask({ objects: others, apiVersion, about });
      succeeded = true;
      let next = 0;
      return objects.map(({ object }) => (object['apiVersion'] === apiVersion ? object : converted[next++]!));
    } finally {
      const seconds = (clock.monotonic() - start) / 1000;
      const [before, after] = [versionText(from), versionText(apiVersion)];
      this.#metrics.converted(this.#rules.definition, before, after, seconds, succeeded);
    }
  }

  #assertKnown(apiVersion: string): void {
    if (!this.#known.has(apiVersion))
      throw failure(`request to convert CR from an invalid group/version: ${apiVersion}`);
  }

  async #ask(question: Question): Promise<JsonObject[]> {
    const { clock, random } = this.#deps;
    const version = conversionReviewVersion(this.#rules.reviewVersions);
    if (version === undefined) throw failure('no supported conversion review versions');
    const uid = random.uuid();
    const start = clock.monotonic();
    const failed = (kind: ConversionFailure, message: string): StatusError => {
      this.#metrics.asked((clock.monotonic() - start) / 1000, kind);
      return failure(message);
    };
    const { about, apiVersion, objects } = question;
    const body = conversionReview(
      version,
      { uid, desiredAPIVersion: apiVersion },
      objects.map(({ bytes }) => bytes),
    );
    let review: JsonObject;
    try {
      review = await this.#reviewed(body);
    } catch (error) {
      const why = (error as Error).message;
      throw failed('conversion_webhook_call_failure', `conversion webhook for ${about} failed: ${why}`);
    }
    let answered: readonly Json[];
    try {
      answered = convertedObjectsIn(review, { version, uid });
    } catch (error) {
      const why = (error as Error).message;
      throw failed(
        'conversion_webhook_malformed_response_failure',
        `conversion webhook for ${about} failed: ${why}`,
      );
    }
    if (answered.length !== objects.length)
      throw failed(
        'conversion_webhook_partial_response_failure',
        `conversion webhook for ${about} returned ${answered.length} objects, expected ${objects.length}`,
      );
    try {
      const converted = answered.map((value, i) => convertedObject(question, value, i));
      this.#metrics.asked((clock.monotonic() - start) / 1000, undefined);
      return converted;
    } catch (error) {
      throw failed('conversion_webhook_invalid_converted_object_failure', (error as Error).message);
    }
  }

  /** Throws Error in upstream's words. */
  async #reviewed(body: Buffer): Promise<JsonObject> {
    const { client, turns } = this.#deps;
    const { signal } = new AbortController();
    const answer = await client.ask(this.#rules.address, { body, timeoutMs, signal });
    const { status, contentType } = answer;
    if (status < 200 || status > 206) throw new Error(statusText(status, contentType, answer.body));
    if (answer.body.length === 0)
      throw new Error(`0-length response with status code: ${status} and content type: ${contentType}`);
    const text = answer.body.toString();
    try {
      const { value } =
        answer.body.length <= heavyBytes
          ? parseJsonText(text)
          : await inTurns(parseJsonTextSteps(text), turns);
      if (isObject(value)) return value;
    } catch (error) {
      throw new Error(`couldn't get version/kind; json parse error: ${(error as Error).message}`, {
        cause: error,
      });
    }
    throw new Error(`couldn't get version/kind; json parse error: the answer is no object`);
  }
}

/** One of the answer, as the object that was sent. Throws Error with upstream's whole message: of one it has others than of several. */
function convertedObject({ objects, apiVersion, about }: Question, value: Json, i: number): JsonObject {
  const one = objects.length === 1;
  const webhook = `conversion webhook for ${about}`;
  const returned = one
    ? `${webhook} returned invalid object`
    : `${webhook} returned invalid converted object`;
  const original = objects[i]!.object;
  let read: JsonObject;
  try {
    read = readConverted(value);
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(one ? why : `${returned} at index ${i}: ${why}`, { cause: error });
  }
  const version = str(read['apiVersion']);
  if (version !== apiVersion)
    throw new Error(
      `${returned} at index ${i}: invalid groupVersion (expected ${apiVersion}, received ${version})`,
    );
  const [kind, got] = [str(original['kind']), str(read['kind'])];
  if (kind !== got)
    throw new Error(`${returned} at index ${i}: invalid kind (expected ${kind}, received ${got})`);
  try {
    return restoreMetadata(original, read);
  } catch (error) {
    if (!(error instanceof UnfitConversion)) throw error;
    const at = one ? '' : ` at index ${i}`;
    const what =
      error.where === 'object'
        ? `${returned}${at}`
        : `${webhook} returned invalid metadata${one ? '' : ` in object${at}`}`;
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
}
