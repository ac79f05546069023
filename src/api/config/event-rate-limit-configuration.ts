// eventratelimit.admission.k8s.io/v1alpha1 Configuration: how many Events may be written.
import { type FieldError, invalid, notSupported } from '../../apimachinery/field-error.ts';
import { readAdmissionConfig } from './admission-configuration.ts';

export interface EventRateLimit {
  readonly type: string;
  readonly qps: number;
  readonly burst: number;
  /** Keys that are remembered; 0: upstream's 4096. */
  readonly cacheSize: number;
}

const limitTypes = ['Server', 'Namespace', 'User', 'SourceAndObject'];

function* limitFaults({ type, qps, burst, cacheSize }: EventRateLimit, at: string): Generator<FieldError> {
  if (!limitTypes.includes(type)) yield notSupported(`${at}.type`, type, limitTypes);
  if (burst <= 0) yield invalid(`${at}.burst`, burst, 'must be positive');
  if (qps <= 0) yield invalid(`${at}.qps`, qps, 'must be positive');
  if (type !== 'Server' && cacheSize < 0) yield invalid(`${at}.cacheSize`, cacheSize, 'must not be negative');
}

/** Throws what is wrong with it. */
export function readEventRateLimits(config: unknown): EventRateLimit[] {
  return readAdmissionConfig<EventRateLimit[]>(config, {
    apiVersions: ['eventratelimit.admission.k8s.io/v1alpha1'],
    kind: 'Configuration',
    shape: { limits: [{ type: 'string', qps: 'number', burst: 'number', cacheSize: 'number' }] },
    make: (read) =>
      ((read['limits'] ?? []) as unknown as Partial<EventRateLimit>[]).map(
        ({ type = '', qps = 0, burst = 0, cacheSize = 0 }) => ({ type, qps, burst, cacheSize }),
      ),
    faults: (limits) => [
      ...(limits.length === 0 ? [invalid('limits', limits, 'must not be empty')] : []),
      ...limits.flatMap((limit, i) => [...limitFaults(limit, `limits[${i}]`)]),
    ],
  });
}
