// The key that values of one KMS provider are sealed with now: its plugin is asked for how it is, and a new key is taken when it names another.
import { type Clock, rfc3339 } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { KmsService, KmsStatus, WrappedKey } from '../../rpc-api/kms-v2.ts';
import { checkWrappedKey, type KeyIdFault, keyIdFault } from './kms-rules.ts';
import type { Cipher } from './sealed-forms.ts';

/** How keys are made and used; told by their digest. */
export interface KmsCiphers {
  newSeed(): Buffer;
  /** Throws Error for a seed, or a key, that is none. */
  ofSeed(seed: Buffer): Cipher;
  ofKey(key: Buffer): Cipher;
  digest(text: string): string;
}

export interface KmsEvents {
  /** The plugin has named its key. */
  named?(keyId: string): void;
  misnamed?(code: KeyIdFault): void;
  /** A check of the plugin ended; undefined: it is well. */
  checked?(error: Error | undefined): void;
}

export interface KmsDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly ciphers: KmsCiphers;
  readonly events: KmsEvents;
}

interface WriteKey {
  readonly cipher: Cipher;
  readonly wrapped: WrappedKey;
  /** What is written with it after that is refused. By the clock that nobody sets, as upstream. */
  expiresAt: number;
}

/** As upstream, all of them. */
const healthyPauseMs = 60_000;
const failingPauseMs = 10_000;
const writeForMs = 3 * 60_000;
const healthyAnswerMs = 20_000;
const failingAnswerMs = 3_000;
/** Of what a plugin says of itself. */
const shownLength = 1024;

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** As Go prints the error of a call. */
export function rpcText(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'string' && typeof message === 'string'
    ? `rpc error: code = ${code} desc = ${message.slice(0, shownLength)}`
    : asError(error).message;
}

export class KmsKeys {
  readonly name: string;
  readonly #service: KmsService;
  readonly #deps: KmsDependencies;
  readonly #closing = new AbortController();
  #now: WriteKey | undefined;
  #version = '';
  #checking: Promise<void> | undefined;
  #answer: { readonly until: number; readonly error: Error | undefined } | undefined;

  constructor(name: string, service: KmsService, deps: KmsDependencies) {
    this.name = name;
    this.#service = service;
    this.#deps = deps;
  }

  /** Asks once, and from then on by itself. A plugin may come later than the server. */
  async start(): Promise<void> {
    const healthy = await this.#isHealthy();
    void this.#poll(healthy);
  }

  stop(): void {
    this.#closing.abort();
  }

  async #poll(first: boolean): Promise<void> {
    const { signal } = this.#closing;
    for (let healthy = first; !signal.aborted; healthy = await this.#isHealthy()) {
      await this.#deps.clock.sleep(healthy ? healthyPauseMs : failingPauseMs, signal).catch(() => {});
      if (signal.aborted) return;
    }
  }

  async #isHealthy(): Promise<boolean> {
    try {
      await this.check();
      return true;
    } catch {
      return false;
    }
  }

  /** Rejects when the plugin is not well. What it said is good for some seconds, whoever asks. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { clock, events } = this.#deps;
    if (this.#answer !== undefined && clock.monotonic() < this.#answer.until) {
      if (this.#answer.error !== undefined) throw this.#answer.error;
      return;
    }
    let error: Error | undefined;
    try {
      await this.#judge(await this.#status());
    } catch (cause) {
      error = asError(cause);
    }
    const lastsMs = error === undefined ? healthyAnswerMs : failingAnswerMs;
    this.#answer = { until: clock.monotonic() + lastsMs, error };
    events.checked?.(error);
    if (error !== undefined) throw error;
  }

  async #status(): Promise<KmsStatus> {
    try {
      return await this.#service.status();
    } catch (cause) {
      throw new Error(
        `failed to perform status section of the healthz check for KMS Provider ${this.name}, error: ${rpcText(cause)}`,
        { cause },
      );
    }
  }

  async #judge({ healthz, version, keyId }: KmsStatus): Promise<void> {
    const { ciphers, events } = this.#deps;
    const errors: string[] = [];
    if (healthz !== 'ok') errors.push(`got unexpected healthz status: ${healthz.slice(0, shownLength)}`);
    if (version !== 'v2' && version !== 'v2beta1')
      errors.push(`expected KMSv2 API version v2, got ${version.slice(0, shownLength)}`);
    else {
      if (this.#version === '') this.#version = version;
      if (this.#version !== version)
        errors.push(
          `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`,
        );
    }
    const fault = keyIdFault(keyId);
    if (fault !== undefined) {
      events.misnamed?.(fault.code);
      errors.push(`got invalid KMSv2 KeyID hash ${JSON.stringify(hashOf(ciphers, keyId))}: ${fault.why}`);
    } else {
      events.named?.(keyId);
      await this.#rotate(keyId).catch((error: unknown) => errors.push(asError(error).message));
    }
    if (errors.length === 0) return;
    const text = errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`;
    throw new Error(`kmsv2 Provider ${this.name} is not healthy, error: ${text}`);
  }

  /** The key of before is good until it is too old: a plugin may fail for a while. */
  async #rotate(keyId: string): Promise<void> {
    const { ciphers, clock, random } = this.#deps;
    const now = this.#now;
    // Before it is asked: the time is an upper bound.
    const expiresAt = clock.monotonic() + writeForMs;
    if (now !== undefined && now.wrapped.keyId === keyId) {
      now.expiresAt = expiresAt;
      return;
    }
    const uid = random.uuid();
    let named = '';
    let failed: string | undefined;
    try {
      const seed = ciphers.newSeed();
      const wrapped = await this.#service.encrypt(uid, seed).catch((cause: unknown) => {
        throw new Error(`failed to encrypt DEK, error: ${rpcText(cause)}`, { cause });
      });
      named = wrapped.keyId;
      checkWrappedKey(wrapped);
      if (named === keyId) {
        // Its message must not be kept alive with it.
        const ciphertext = Buffer.from(wrapped.ciphertext);
        this.#now = { cipher: ciphers.ofSeed(seed), wrapped: { ...wrapped, ciphertext }, expiresAt };
        return;
      }
    } catch (error) {
      failed = asError(error).message;
    }
    const hash = (id: string): string => JSON.stringify(hashOf(ciphers, id));
    const errState = now === undefined ? 'got unexpected nil transformer' : '<nil>';
    const until = now === undefined ? '0001-01-01T00:00:00Z' : this.#shown(now);
    throw new Error(
      `failed to rotate DEK uid="${uid}", useSeed=true, errState=${errState}, errGen=${failed ?? '<nil>'}, statusKeyIDHash=${hash(keyId)}, encryptKeyIDHash=${hash(named)}, stateKeyIDHash=${hash(now?.wrapped.keyId ?? '')}, expirationTimestamp=${until}`,
    );
  }

  /** For reading, and to know what lies otherwise. Throws Error before there was a first key. */
  current(): { readonly cipher: Cipher; readonly wrapped: WrappedKey } {
    if (this.#now === undefined) throw new Error('got unexpected nil transformer');
    return this.#now;
  }

  /** Throws Error where it was not confirmed for too long. */
  forWriting(): { readonly cipher: Cipher; readonly wrapped: WrappedKey } {
    const { ciphers, clock } = this.#deps;
    this.current();
    const { wrapped, expiresAt } = this.#now!;
    if (clock.monotonic() > expiresAt)
      throw new Error(
        `encryptedDEKSource with keyID hash ${JSON.stringify(hashOf(ciphers, wrapped.keyId))} expired at ${this.#shown(this.#now!)} (current time is ${rfc3339(clock.now())})`,
      );
    return this.#now!;
  }

  #shown({ expiresAt }: WriteKey): string {
    const { clock } = this.#deps;
    return rfc3339(clock.now() + expiresAt - clock.monotonic());
  }
}

const hashOf = (ciphers: KmsCiphers, keyId: string): string =>
  keyId === '' ? '' : `sha256:${ciphers.digest(keyId)}`;
