// The objects of a request in each version that policies see, in one round, while policies change them one after the other.
import type { JsonObject, ResourceDeclaration } from '../../../apimachinery/declaration.ts';
import { internalError } from '../../../apimachinery/errors.ts';
import type { AdmissionRequest } from '../admission.ts';
import { convert } from '../webhook/matcher.ts';
import { objectsFor } from '../webhook/validating-dispatch.ts';
import type { WebhookObjects } from '../webhook/webhook-caller.ts';

export class SeenObjects {
  readonly #request: AdmissionRequest;
  readonly #seen = new Map<ResourceDeclaration, Promise<WebhookObjects>>();
  /** The version in which it was changed, where the request's object is still what it was before. */
  #ahead: ResourceDeclaration | undefined;

  constructor(request: AdmissionRequest) {
    this.#request = request;
  }

  /** Converted once for all who see the same version, however many they are. Throws what the conversion throws, each time. */
  of(seen: ResourceDeclaration): Promise<WebhookObjects> {
    let found = this.#seen.get(seen);
    if (found === undefined) {
      found = objectsFor(this.#request, { seen });
      this.#seen.set(seen, found);
    }
    return found;
  }

  /** Who sees this version has changed the object to `made`. */
  async write(seen: ResourceDeclaration, made: JsonObject): Promise<void> {
    const { oldObject } = await this.of(seen);
    this.#seen.clear();
    this.#seen.set(seen, Promise.resolve({ object: made, oldObject }));
    if (seen === this.#request.declaration) this.#request.object = made;
    else this.#ahead = seen;
  }

  /** Before the request's object is looked at, or any version but `except`. Throws StatusError 500, as upstream. */
  async settle(except?: ResourceDeclaration): Promise<void> {
    const from = this.#ahead;
    if (from === undefined || from === except) return;
    const { object } = await this.of(from);
    this.#ahead = undefined;
    try {
      this.#request.object = await convert(object!, from, this.#request.declaration);
      if (this.#request.object !== object) this.#request.isConverted = true;
    } catch (error) {
      throw internalError(new Error(`failed to convert object: ${(error as Error).message}`));
    }
  }
}
