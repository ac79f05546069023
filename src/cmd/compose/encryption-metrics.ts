// What is counted of values that are sealed and opened, of KMS plugins, and of how often their configuration was read again.
import type { Clock } from '../../base/clock.ts';
import {
  type CounterMetric,
  declareMetrics,
  exponentialBuckets,
  type GaugeMetric,
  type HistogramMetric,
  type Labels,
  type MetricsRegistry,
  type ReadGauge,
} from '../../component-base/metrics.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { Direction } from '../../storage/encryption/encryption-at-rest.ts';
import type { KmsFormEvents } from '../../storage/encryption/kms-form.ts';
import type { KmsEvents } from '../../storage/encryption/kms-keys.ts';
import type { Key } from '../../storage/storage.ts';
import { isGrpcError } from '../../wire/grpc-client.ts';

interface Declared {
  readonly operations: CounterMetric;
  readonly durations: HistogramMetric;
  readonly misses: CounterMetric;
  readonly calls: HistogramMetric;
  readonly used: CounterMetric;
  readonly lastUsed: ReadGauge;
  readonly lastNamed: ReadGauge;
  readonly misnamed: CounterMetric;
  readonly kept: GaugeMetric;
  readonly reloads: CounterMetric;
  readonly lastReload: GaugeMetric;
  readonly configuration: ReadGauge;
}

const declared: (metrics: MetricsRegistry) => Declared = declareMetrics((metrics: MetricsRegistry) => ({
  operations: metrics.counter(
    'apiserver_storage_transformation_operations_total',
    'How many values were sealed or opened, by how it went',
    ['resource', 'transformation_type', 'transformer_prefix', 'status'],
  ),
  durations: metrics.histogram(
    'apiserver_storage_transformation_duration_seconds',
    'How long it took to seal or open a value',
    ['transformation_type', 'transformer_prefix'],
    exponentialBuckets(5e-6, 2, 25),
  ),
  misses: metrics.counter(
    'apiserver_storage_envelope_transformation_cache_misses_total',
    'How often a KMS plugin had to be asked for the key of a value',
    [],
  ),
  calls: metrics.histogram(
    'apiserver_envelope_encryption_kms_operations_latency_seconds',
    'How long calls of KMS plugins took, by how they ended',
    ['provider_name', 'method_name', 'grpc_status_code'],
    exponentialBuckets(0.0001, 2, 20),
  ),
  used: metrics.counter(
    'apiserver_envelope_encryption_key_id_hash_total',
    'How often a key of a KMS plugin was used',
    ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'],
  ),
  lastUsed: metrics.readGauge(
    'apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds',
    'When a key of a KMS plugin was used last',
    ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'],
  ),
  lastNamed: metrics.readGauge(
    'apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds',
    'When a KMS plugin named a key as its own last',
    ['provider_name', 'key_id_hash', 'apiserver_id_hash'],
  ),
  misnamed: metrics.counter(
    'apiserver_envelope_encryption_invalid_key_id_from_status_total',
    'How often a KMS plugin named a key as none can be named',
    ['provider_name', 'error'],
  ),
  kept: metrics.gauge(
    'apiserver_envelope_encryption_dek_source_cache_size',
    'How many opened keys are kept: about as many questions as a start asks the KMS plugin',
    ['provider_name'],
  ),
  reloads: metrics.counter(
    'apiserver_encryption_config_controller_automatic_reloads_total',
    'How often the encryption configuration was read again, by how it went',
    ['status', 'apiserver_id_hash'],
  ),
  lastReload: metrics.gauge(
    'apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds',
    'When the encryption configuration was read again last, by how it went',
    ['status', 'apiserver_id_hash'],
  ),
  configuration: metrics.readGauge(
    'apiserver_encryption_config_controller_last_config_info',
    'The digest of the encryption configuration that holds',
    ['apiserver_id_hash', 'hash'],
  ),
}));

/** Plugins name keys as they like: as upstream, the last hundred are told of. */
const mostNames = 100;

/** When something was last, for those of the last that were. */
class LastTimes {
  readonly #times = new Map<string, readonly [Labels, number]>();
  readonly #forgotten: (labels: Labels) => void;
  constructor(forgotten: (labels: Labels) => void = () => {}) {
    this.#forgotten = forgotten;
  }
  now(labels: Labels, seconds: number): void {
    const id = JSON.stringify(labels);
    this.#times.delete(id);
    this.#times.set(id, [labels, seconds]);
    if (this.#times.size <= mostNames) return;
    const [oldest, [gone]] = this.#times.entries().next().value!;
    this.#times.delete(oldest);
    this.#forgotten(gone);
  }
  values(): Iterable<readonly [Labels, number]> {
    return this.#times.values();
  }
}

const hashOf = (text: string): string => (text === '' ? '' : `sha256:${sha256Hex(text)}`);

/** The code of the call that it came of, as Go prints codes. */
function statusOf(error: unknown): string {
  if (error === undefined) return 'OK';
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (isGrpcError(cause)) return cause.code;
  return 'unknown-non-grpc';
}

function resourceOf(key: Key): string {
  const [, , group = '', resource = ''] = key.split('/', 4);
  return group === 'core' ? resource : `${resource}.${group}`;
}

export class EncryptionMetrics {
  readonly #declared: Declared;
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly #id: string;
  readonly #lastUsed: LastTimes;
  readonly #lastNamed = new LastTimes();
  readonly #stop: readonly (() => void)[];
  #configuration = '';

  constructor(metrics: MetricsRegistry, clock: Pick<Clock, 'now' | 'monotonic'>, serverId: string) {
    this.#declared = declared(metrics);
    this.#clock = clock;
    this.#id = hashOf(serverId);
    const { used, lastUsed, lastNamed, configuration } = this.#declared;
    this.#lastUsed = new LastTimes((labels) => used.remove(labels));
    this.#stop = [
      lastUsed.add(() => this.#lastUsed.values()),
      lastNamed.add(() => this.#lastNamed.values()),
      configuration.add(() => [[{ apiserver_id_hash: this.#id, hash: this.#configuration }, 1]]),
    ];
  }

  transformed(
    key: Key,
    direction: Direction,
    prefix: Buffer | undefined,
    started: number,
    error: unknown,
  ): void {
    const transformer_prefix =
      prefix === undefined ? 'unknown' : prefix.length === 0 ? 'identity' : prefix.toString();
    const labels = { transformation_type: direction, transformer_prefix };
    const { operations, durations } = this.#declared;
    operations.inc({ ...labels, resource: resourceOf(key), status: statusOf(error) });
    if (error === undefined) durations.observe(labels, (this.#clock.monotonic() - started) / 1000);
  }

  /** A call of a plugin begins; the result is told how it ended. */
  call(provider: string, path: string): (error: unknown) => void {
    const started = this.#clock.monotonic();
    return (error) =>
      this.#declared.calls.observe(
        { provider_name: provider, method_name: path, grpc_status_code: statusOf(error) },
        (this.#clock.monotonic() - started) / 1000,
      );
  }

  eventsOf(provider: string): KmsEvents & KmsFormEvents {
    const { used, misses, kept, misnamed } = this.#declared;
    const named = (keyId: string): Labels => ({
      provider_name: provider,
      key_id_hash: hashOf(keyId),
      apiserver_id_hash: this.#id,
    });
    return {
      used: (direction, keyId) => {
        const labels = { transformation_type: direction, ...named(keyId) };
        used.inc(labels);
        this.#lastUsed.now(labels, this.#clock.now() / 1000);
      },
      missed: () => misses.inc({}),
      kept: (keys) => kept.set({ provider_name: provider }, keys),
      named: (keyId) => this.#lastNamed.now(named(keyId), this.#clock.now() / 1000),
      misnamed: (code) => misnamed.inc({ provider_name: provider, error: code }),
    };
  }

  reloaded(status: 'success' | 'failure'): void {
    const labels = { status, apiserver_id_hash: this.#id };
    this.#declared.reloads.inc(labels);
    this.#declared.lastReload.set(labels, this.#clock.now() / 1000);
  }

  holds(hash: string): void {
    this.#configuration = hash;
  }

  stop(): void {
    for (const stop of this.#stop) stop();
  }
}
