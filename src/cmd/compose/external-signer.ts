// Service account tokens signed by another program, by --service-account-signing-endpoint: who keeps the keys is asked, and not believed blindly.
import type { Clock } from '../../base/clock.ts';
import { formatGoDuration } from '../../base/go-duration.ts';
import { inWords, type Logger } from '../../component-base/logger.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';
import { type JwtClaims, jwkOf, namedKey, type VerificationKey } from '../../crypto/jwt.ts';
import { publicKeyFromDer } from '../../crypto/keys.ts';
import type { TokenKeys } from '../../plugins/authentication/tokens/token-keys.ts';
import {
  createExternalSignerService,
  type ExternalKey,
  type ExternalKeys,
  type ExternalSignerService,
  type SignedPart,
} from '../../rpc-api/external-jwt-v1.ts';
import { createGrpcClient, isGrpcError } from '../../wire/grpc-client.ts';

export interface ExternalSigner {
  readonly keys: TokenKeys;
  readonly maxExpirationSeconds: number;
  sign(claims: JwtClaims): Promise<string>;
  close(): void;
}

const fetchMs = 60_000;
const metadataMs = 10_000;
const signMs = 60_000;
const minTokenSeconds = 600;
const maxKeyIdBytes = 1024;
/** After a failure, as upstream. */
const againMs = 10_000;
/** Node's timers end there. */
const longestTimerMs = 2 ** 31 - 1;
const maxMessageBytes = 4 << 20;
const algorithms: readonly unknown[] = ['RS256', 'ES256', 'ES384', 'ES512'];

/** As Go's gRPC tells of it. */
const textOf = (error: unknown): string =>
  isGrpcError(error) ? `rpc error: code = ${error.code} desc = ${error.message}` : (error as Error).message;
const failed = (what: string, cause: unknown): Error => new Error(`${what}: ${textOf(cause)}`, { cause });

/** Throws in upstream's words. */
export function checkSigningEndpoint(flags: {
  readonly serviceAccountSigningEndpoint?: string;
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceAccountKeyFile?: readonly string[];
}): void {
  const { serviceAccountSigningEndpoint: endpoint } = flags;
  if (endpoint === undefined) return;
  if (flags.serviceAccountSigningKeyFile !== undefined || (flags.serviceAccountKeyFile ?? []).length > 0)
    throw new Error(
      "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)",
    );
  if (/^@[\w-]+(\.[\w-]+)*$/.test(endpoint))
    throw new Error(
      `--service-account-signing-endpoint ${endpoint}: sockets of the abstract namespace are not supported: name one of the file system`,
    );
  if (!endpoint.startsWith('/'))
    throw new Error(
      `invalid value ${JSON.stringify(endpoint)} passed for \`--service-account-signing-endpoint\`, should be a valid location on the filesystem or must be prefixed with @ to name UDS in abstract namespace`,
    );
}

/** Some milliseconds. */
const keysAtOnce = 32;
/** Anybody can name a key that nobody knows: what that costs this thread is at most a part of its time. */
const restOfReading = 10;
const longestRestMs = 1_000;

/** What lists of keys told so far. Those that are told again are the same ones: to read one costs more than to believe a token. */
class KeyReader {
  #known = new Map<string, VerificationKey>();

  /** Throws in upstream's words for keys that nobody could use. */
  async read({ keys, dataTimestamp, refreshHintSeconds }: ExternalKeys): Promise<Set<VerificationKey>> {
    if (refreshHintSeconds <= 0) throw new Error(`found invalid refresh hint (${refreshHintSeconds}s)`);
    if (keys.length === 0) throw new Error('found no keys');
    if (dataTimestamp === undefined) throw new Error('invalid data timestamp: proto: invalid nil Timestamp');
    if (dataTimestamp.nanos < 0 || dataTimestamp.nanos >= 1e9)
      throw new Error('invalid data timestamp: proto: timestamp has out-of-range nanos');
    const now = new Map<string, VerificationKey>();
    for (const [i, told] of keys.entries()) {
      if (i % keysAtOnce === keysAtOnce - 1) await threadTurns.take();
      const name = `${told.excludeFromOidcDiscovery} ${told.key.toString('base64')} ${told.keyId}`;
      now.set(name, now.get(name) ?? this.#known.get(name) ?? keyOf(told));
    }
    this.#known = now;
    return new Set(now.values());
  }
}

function keyOf({ keyId, key, excludeFromOidcDiscovery: isHidden }: ExternalKey): VerificationKey {
  if (keyId === '' || Buffer.byteLength(keyId) > maxKeyIdBytes)
    throw new Error(`found invalid public key id ${JSON.stringify(keyId)}`);
  if (key.length === 0) throw new Error('found empty public key');
  try {
    const read = { ...namedKey(publicKeyFromDer(key), keyId), isHidden };
    jwkOf(read);
    return read;
  } catch (error) {
    throw failed('while parsing external public keys', error);
  }
}

class ExternalKeyCache implements TokenKeys {
  readonly #service: ExternalSignerService;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #reader = new KeyReader();
  #keys: readonly VerificationKey[] = [];
  #refreshAt = 0;
  /** Until then who names an unknown key waits. */
  #restsUntil = 0;
  #looking: Promise<void> | undefined;
  #cancel = (): void => {};
  readonly #ended = new AbortController();

  constructor(service: ExternalSignerService, clock: Clock, log: Logger) {
    this.#service = service;
    this.#clock = clock;
    this.#log = log;
  }

  now(): readonly VerificationKey[] {
    return this.#keys;
  }

  maxAgeSeconds(): number {
    return Math.max(0, Math.floor((this.#refreshAt - this.#clock.monotonic()) / 1000));
  }

  /** Whoever comes while it is asked gets the same answer. */
  fetch(): Promise<void> {
    this.#looking ??= this.#fetched().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async lookAgain(): Promise<void> {
    await this.#rested();
    await this.fetch().catch((error: unknown) =>
      this.#log.error({ error: inWords(error) }, 'Error while syncing keys'),
    );
  }

  /** Until it may be asked once more, or is asked. */
  async #rested(): Promise<void> {
    while (this.#looking === undefined && !this.#ended.signal.aborted) {
      const restMs = this.#restsUntil - this.#clock.monotonic();
      if (restMs <= 0) return;
      await this.#clock.sleep(restMs, this.#ended.signal).catch(() => undefined);
    }
  }

  /** From now on by itself, when the signer says. */
  follow(): void {
    this.#in(this.#refreshAt - this.#clock.monotonic());
  }

  stop(): void {
    this.#ended.abort();
    this.#cancel();
  }

  #in(ms: number): void {
    if (this.#ended.signal.aborted) return;
    this.#cancel = this.#clock.timer(Math.min(Math.max(ms, 0), longestTimerMs), () => {
      this.fetch().then(
        () => this.follow(),
        (error: unknown) => {
          this.#log.error(
            { error: inWords(error) },
            'keys of tokens were not fetched: those that were known before hold',
          );
          this.#in(againMs);
        },
      );
    });
  }

  async #fetched(): Promise<void> {
    const what = 'while fetching token verification keys';
    let answer: ExternalKeys;
    try {
      answer = await this.#service.fetchKeys(fetchMs);
    } catch (error) {
      throw failed(`${what}: while getting externally supported jwt signing keys`, error);
    }
    const began = this.#clock.monotonic();
    try {
      this.#take(await this.#reader.read(answer));
    } catch (error) {
      throw failed(what, error);
    } finally {
      const now = this.#clock.monotonic();
      this.#restsUntil = now + Math.min((now - began) * restOfReading, longestRestMs);
    }
    this.#refreshAt = this.#clock.monotonic() + answer.refreshHintSeconds * 1000;
  }

  /** Whoever remembers tokens goes on doing so where the keys are those of before, in whatever order they are told. */
  #take(keys: ReadonlySet<VerificationKey>): void {
    if (keys.size === this.#keys.length && this.#keys.every((key) => keys.has(key))) return;
    this.#keys = [...keys];
  }
}

const known: readonly string[] = ['alg', 'kid', 'typ'];

/** Throws in upstream's words for a header that no token of this server may have. */
async function checkHeader(header: string, keys: TokenKeys): Promise<void> {
  if (!/^[\w-]*$/.test(header)) throw new Error('while unwrapping header: illegal base64 data');
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
  } catch (error) {
    throw failed('while parsing header JSON', error);
  }
  const fields = (typeof read === 'object' && read !== null ? read : {}) as Record<string, unknown>;
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`while parsing header JSON: json: unknown field ${JSON.stringify(unknown)}`);
  const { alg = '', kid = '', typ } = fields;
  if (typ !== 'JWT') throw new Error('bad type');
  if (typeof kid !== 'string' || kid === '') throw new Error('key id missing');
  if (Buffer.byteLength(kid) > maxKeyIdBytes) throw new Error('key id longer than 1 kb');
  if (!algorithms.includes(alg)) throw new Error(`bad signing algorithm ${JSON.stringify(alg)}`);
  const named = (): readonly VerificationKey[] => keys.now().filter((key) => key.kid === kid);
  if (named().length === 0) await keys.lookAgain?.();
  if (named().some(({ isHidden }) => isHidden === true))
    throw new Error(`key used for signing JWT (kid: ${kid}) is excluded from OIDC discovery docs`);
}

async function signed(service: ExternalSignerService, keys: TokenKeys, claims: JwtClaims): Promise<string> {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
  let part: SignedPart;
  try {
    part = await service.sign(payload, signMs);
  } catch (error) {
    throw failed('while signing jwt', error);
  }
  try {
    await checkHeader(part.header, keys);
  } catch (error) {
    throw failed('while validating header', error);
  }
  if (part.signature === '') throw new Error('empty signature returned');
  return `${part.header}.${payload}.${part.signature}`;
}

const setUp = 'while setting up external-jwt-signer';

/** Throws in upstream's words when it can't be used. */
async function longestOf(service: ExternalSignerService, wantedSeconds: number | undefined): Promise<number> {
  const { maxTokenExpirationSeconds: most } = await service.metadata(metadataMs).catch((error: unknown) => {
    throw failed(setUp, error);
  });
  if (most < minTokenSeconds)
    throw new Error(
      `max token life supported by external-jwt-signer (${most}s) is less than acceptable (min ${minTokenSeconds}s)`,
    );
  if (wantedSeconds === undefined) return most;
  if (wantedSeconds > most)
    throw new Error(
      `service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: ${formatGoDuration(wantedSeconds * 1000)} > ${formatGoDuration(most * 1000)}`,
    );
  return wantedSeconds;
}

/** `wantedSeconds`: of --service-account-max-token-expiration. */
export async function openExternalSigner(
  endpoint: string,
  wantedSeconds: number | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<ExternalSigner> {
  const client = createGrpcClient(clock, `unix://${endpoint}`, maxMessageBytes);
  try {
    const service = createExternalSignerService(client);
    const keys = new ExternalKeyCache(service, clock, log);
    await keys.fetch().catch((error: unknown) => {
      throw failed(`${setUp}: while initially filling key cache: while performing initial cache fill`, error);
    });
    const maxExpirationSeconds = await longestOf(service, wantedSeconds);
    keys.follow();
    return {
      keys,
      maxExpirationSeconds,
      sign: (claims) => signed(service, keys, claims),
      close() {
        keys.stop();
        client.close();
      },
    };
  } catch (error) {
    client.close();
    throw error;
  }
}
