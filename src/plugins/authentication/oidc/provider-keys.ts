// The keys of one OpenID provider: found when the first token of it comes, kept, and looked up again for a key that is new.
import type { Clock } from '../../../base/clock.ts';
import { WaitingRoom } from '../../../base/waiting-room.ts';
import { isSignedBy, type PublicKey, readKeySet } from '../../../crypto/json-web-keys.ts';
import type { ReadJwt } from '../../../crypto/jwt.ts';

/** One GET of JSON, bounded in size and time. Throws why there is none. `told` is given the text. */
export type GetJson = (
  url: string,
  ca: string | undefined,
  told?: (text: string) => void,
) => Promise<unknown>;

/** Told of each look for an issuer's keys: the text that holds them, or undefined when there was none. */
export type KeysFetched = (issuer: string, keySet: string | undefined) => void;

export interface Provider {
  readonly issuer: string;
  readonly discoveryUrl: string | undefined;
  readonly ca: string | undefined;
}

/** Tokens with keys that nobody knows are easily made: not each of them is a question to the provider. */
const betweenLooksMs = 5_000;
/** Of the texts of tokens that wait for an answer of the provider: anybody can make them up, and it may be slow. */
const waitingRoom = 16 << 20;
/** A key that its provider has taken back is forgotten in time, also when no new one is asked for. */
const staleMs = 10 * 60_000;

const https = (url: unknown): url is string =>
  typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'https:';

export class ProviderKeys {
  readonly #provider: Provider;
  readonly #getJson: GetJson;
  readonly #clock: Clock;
  readonly #fetched: KeysFetched | undefined;
  #keys: readonly PublicKey[] = [];
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #failure: Error | undefined;
  readonly #waiting = new WaitingRoom(waitingRoom);

  constructor(provider: Provider, getJson: GetJson, clock: Clock, fetched?: KeysFetched) {
    this.#provider = provider;
    this.#fetched = fetched;
    this.#getJson = getJson;
    this.#clock = clock;
  }

  /** Throws when the provider could not be asked. */
  async haveSigned(token: ReadJwt): Promise<boolean> {
    const age = this.#clock.monotonic() - this.#lookedAt;
    if (isSignedBy(token, this.#keys)) {
      if (age > staleMs) void this.#look();
      return true;
    }
    if (this.#looking === undefined && age < betweenLooksMs) {
      if (this.#failure !== undefined) throw this.#failure;
      return false;
    }
    await this.#waitForLook(token.signed.length);
    if (isSignedBy(token, this.#keys)) return true;
    if (this.#failure !== undefined) throw this.#failure;
    return false;
  }

  async #waitForLook(length: number): Promise<void> {
    const leave = this.#waiting.enter(length);
    if (leave === undefined) throw new Error('oidc: too many tokens wait for the keys of their provider');
    await this.#look().finally(leave);
  }

  /** Whoever comes while it is under way waits for the same answer. */
  #look(): Promise<void> {
    this.#looking ??= this.#fetch()
      .then(
        (keys) => {
          this.#keys = keys;
          this.#failure = undefined;
        },
        (error: unknown) => {
          // What was known stays: a provider that is away for a while shuts nobody out.
          this.#failure = error as Error;
        },
      )
      .finally(() => {
        this.#lookedAt = this.#clock.monotonic();
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #fetch(): Promise<readonly PublicKey[]> {
    const { issuer, discoveryUrl, ca } = this.#provider;
    const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
    const document = await this.#getJson(discoveryUrl ?? `${base}/.well-known/openid-configuration`, ca);
    const { issuer: named, jwks_uri: uri } = (document ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
    if (named !== issuer)
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${JSON.stringify(issuer)} got ${JSON.stringify(named ?? '')}`,
      );
    if (!https(uri)) throw new Error('oidc: the provider names no jwks_uri of scheme https');
    return this.#keySet(uri, ca);
  }

  async #keySet(uri: string, ca: string | undefined): Promise<readonly PublicKey[]> {
    let text = '';
    let isGood = false;
    try {
      const given = await this.#getJson(uri, ca, (one) => {
        text = one;
      });
      const keys = readKeySet(given);
      if (keys === undefined) throw new Error('oidc: failed to decode keys');
      isGood = true;
      return keys;
    } finally {
      this.#fetched?.(this.#provider.issuer, isGood ? text : undefined);
    }
  }
}
