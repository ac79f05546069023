// EventRateLimit: how many Events a server, a namespace, a user or a source with its object may write.
import type { EventRateLimit } from '../../api/config/event-rate-limit-configuration.ts';
import { StatusError } from '../../apimachinery/errors.ts';
import { isObject, obj, str } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { Clock } from '../../base/clock.ts';
import { sha256Hex } from '../../crypto/digests.ts';

const defaultCacheSize = 4096;
/** Who writes events chooses their objects' names; of longer ones the digest is kept. */
const longestKept = 1024;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** What the limit counts together. */
function keyOf({ namespace, user, object }: AdmissionRequest, type: string): string {
  if (type === 'Namespace') return namespace;
  if (type === 'User') return user.name;
  if (type !== 'SourceAndObject' || object === undefined) return '';
  const source = obj(object['source'] ?? object['deprecatedSource']);
  const about = isObject(object['involvedObject'] as never)
    ? obj(object['involvedObject'])
    : obj(object['regarding']);
  const of = ['kind', 'namespace', 'name', 'uid', 'apiVersion'].map((field) => str(about[field]));
  return [str(source['component']), str(source['host']), ...of].join('');
}

/** Whether one more is let through: a bucket of tokens for each key, of those that were used last. */
function limiter({ type, qps, burst, cacheSize }: EventRateLimit, clock: Clock): (key: string) => boolean {
  const size = type === 'Server' ? 1 : cacheSize === 0 ? defaultCacheSize : cacheSize;
  const buckets = new Map<string, Bucket>();
  return (text) => {
    const key = text.length > longestKept ? sha256Hex(text) : text;
    const now = clock.monotonic();
    const bucket = buckets.get(key) ?? { tokens: burst, atMs: now };
    // The last used stands last, the first is forgotten.
    buckets.delete(key);
    if (buckets.size >= size) buckets.delete(buckets.keys().next().value!);
    buckets.set(key, bucket);
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.atMs) * qps) / 1000);
    bucket.atMs = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
}

export function createEventRateLimit(limits: readonly EventRateLimit[], clock: Clock): AdmissionPlugin {
  const enforced = limits.map((limit) => ({ type: limit.type, accept: limiter(limit, clock) }));
  return {
    name: 'EventRateLimit',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      if (request.declaration.kind !== 'Event') return;
      // Each of them counts it, whoever refuses; the last that does says so.
      let refusal = '';
      for (const { type, accept } of enforced) {
        const key = keyOf(request, type);
        if (!accept(key)) refusal = `limit reached on type ${type} for key ${key}`;
      }
      if (refusal !== '') throw new StatusError(429, 'TooManyRequests', refusal, { retryAfterSeconds: 10 });
    },
  };
}
