// Values of one KMS provider: each beside the key that it was sealed with, which only the plugin opens; opened keys are kept for a day.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  encodeEncryptedObject,
  type KmsService,
  type WrappedKey,
} from '../../rpc-api/kms-v2.ts';
import { type KmsCiphers, type KmsKeys, rpcText } from './kms-keys.ts';
import { checkEncryptedObject, seedType } from './kms-rules.ts';
import type { Cipher, Opened, SealedForm } from './sealed-forms.ts';

const keptMs = 24 * 3_600_000;
/** As many as no store of one cluster has: what is behind them is asked for again. */
const mostKept = 10_000;
/** Questions to the plugin that are under way together. */
const mostAsked = 16;

export interface KmsFormEvents {
  used?(direction: 'from_storage' | 'to_storage', keyId: string): void;
  missed?(): void;
  kept?(keys: number): void;
}

interface KmsFormDependencies {
  readonly service: KmsService;
  readonly keys: KmsKeys;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly random: Random;
  readonly ciphers: KmsCiphers;
  readonly events: KmsFormEvents;
}

export class KmsForm implements SealedForm {
  readonly prefix: Buffer;
  readonly #name: string;
  readonly #deps: KmsFormDependencies;
  /** In the order in which they end. */
  readonly #kept = new Map<string, { readonly cipher: Cipher; readonly until: number }>();
  readonly #asked = new Map<string, Promise<Cipher>>();
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(name: string, deps: KmsFormDependencies) {
    this.prefix = Buffer.from(`k8s:enc:kms:v2:${name}:`);
    this.#name = name;
    this.#deps = deps;
  }

  #lies(sourceType: number, keyId: string): string {
    return `kms:v2:${this.#name}:${sourceType}:${keyId}`;
  }

  /** While no key is known nothing lies as it should. */
  lies(): string {
    try {
      return this.#lies(seedType, this.#deps.keys.current().wrapped.keyId);
    } catch {
      return this.#lies(seedType, '');
    }
  }

  seal(value: Uint8Array, place: string): Uint8Array {
    const { keys, events } = this.#deps;
    const { cipher, wrapped } = keys.forWriting();
    // What it writes will be read: nobody need be asked for it.
    this.#keep(this.#idOf({ ...wrapped, sourceType: seedType }), cipher);
    const data = cipher.seal(value, place);
    events.used?.('to_storage', wrapped.keyId);
    return encodeEncryptedObject({
      ...wrapped,
      data: Buffer.from(data.buffer, data.byteOffset, data.length),
      sourceType: seedType,
    });
  }

  open(sealed: Buffer, place: string): Opened | Promise<Opened> {
    const object = decodeEncryptedObject(sealed);
    checkEncryptedObject(object);
    // Upstream, too, reads nothing before its plugin was well once.
    this.#deps.keys.current();
    const lies = this.#lies(object.sourceType, object.keyId);
    const opened = (cipher: Cipher): Opened => {
      this.#deps.events.used?.('from_storage', object.keyId);
      return { plain: cipher.open(object.data, place), lies };
    };
    const id = this.#idOf(object);
    const kept = this.#kept.get(id);
    return kept === undefined ? this.#ask(id, object).then(opened) : opened(kept.cipher);
  }

  /** Who needs the same key waits for the same answer. */
  #ask(id: string, object: EncryptedObject): Promise<Cipher> {
    let answer = this.#asked.get(id);
    if (answer === undefined) {
      this.#deps.events.missed?.();
      answer = this.#inTurn(() => this.#decrypted(object))
        .then((cipher) => {
          this.#keep(id, cipher);
          return cipher;
        })
        .finally(() => this.#asked.delete(id));
      this.#asked.set(id, answer);
    }
    return answer;
  }

  async #decrypted({ ciphertext, keyId, annotations, sourceType }: EncryptedObject): Promise<Cipher> {
    const { service, random, ciphers } = this.#deps;
    let key: Buffer;
    try {
      key = await service.decrypt(random.uuid(), { ciphertext, keyId, annotations });
    } catch (cause) {
      throw new Error(`failed to decrypt DEK, error: ${rpcText(cause)}`, { cause });
    }
    const own = Buffer.from(key);
    return sourceType === seedType ? ciphers.ofSeed(own) : ciphers.ofKey(own);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay >= mostAsked) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay++;
    try {
      return await work();
    } finally {
      // Its place goes to who waits.
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay--;
      else next();
    }
  }

  #keep(id: string, cipher: Cipher): void {
    const now = this.#deps.clock.monotonic();
    this.#kept.delete(id);
    this.#kept.set(id, { cipher, until: now + keptMs });
    for (const [key, { until }] of this.#kept) {
      if (until > now && this.#kept.size <= mostKept) break;
      this.#kept.delete(key);
    }
    this.#deps.events.kept?.(this.#kept.size);
  }

  /** Of a key with all that came with it. */
  #idOf({
    ciphertext,
    keyId,
    annotations,
    sourceType,
  }: WrappedKey & { readonly sourceType: number }): string {
    const parts: (string | number)[] = [sourceType, ciphertext.toString('base64'), keyId];
    for (const name of [...annotations.keys()].sort())
      parts.push(name, annotations.get(name)!.toString('base64'));
    return this.#deps.ciphers.digest(JSON.stringify(parts));
  }
}
