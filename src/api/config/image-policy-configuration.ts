// The unversioned configuration of ImagePolicyWebhook: whom it asks, and how long an answer holds.
import { type ConfigShape, unknownFieldsOf } from '../../apimachinery/config-shape.ts';
import { isObject } from '../../apimachinery/json-access.ts';

export interface ImagePolicySettings {
  readonly kubeConfigFile: string;
  readonly allowTtlMs: number;
  readonly denyTtlMs: number;
  readonly retryBackoffMs: number;
  /** What an answer that does not come means. */
  readonly defaultAllow: boolean;
}

const shape: ConfigShape = {
  kubeConfigFile: 'string',
  allowTTL: 'number',
  denyTTL: 'number',
  retryBackoff: 'number',
  defaultAllow: 'boolean',
};

interface Bounds {
  readonly unitMs: number;
  readonly aboveMs: number;
  readonly above: string;
  readonly mostMs: number;
  readonly most: string;
  readonly otherwiseMs: number;
}
const ttl = (otherwiseMs: number): Bounds => ({
  unitMs: 1000,
  aboveMs: 1000,
  above: '1s',
  mostMs: 1_800_000,
  most: '30m0s',
  otherwiseMs,
});
const backoff: Bounds = {
  unitMs: 1,
  aboveMs: 0,
  above: '1ns',
  mostMs: 300_000,
  most: '5m0s',
  otherwiseMs: 500,
};

/** -1: none; 0 and nothing: the default. */
function milliseconds(value: unknown, { unitMs, otherwiseMs, ...bounds }: Bounds): number {
  const given = typeof value === 'number' ? value : 0;
  if (given === -1) return 0;
  if (given === 0) return otherwiseMs;
  const ms = given * unitMs;
  if (!(ms > bounds.aboveMs && ms <= bounds.mostMs))
    throw new Error(`valid value is between ${bounds.above} and ${bounds.most}, got ${ms / 1000}s`);
  return ms;
}

/** Throws what is wrong with it. */
export function readImagePolicy(config: unknown): ImagePolicySettings {
  const file = isObject(config as never) ? (config as Record<string, unknown>)['imagePolicy'] : undefined;
  if (file === undefined || file === null) throw new Error('no config specified');
  const unknown = unknownFieldsOf(file, shape, 'imagePolicy');
  if (unknown.length > 0) throw new Error(`unknown field ${JSON.stringify(unknown[0])}`);
  const read = file as Record<string, unknown>;
  return {
    kubeConfigFile: typeof read['kubeConfigFile'] === 'string' ? read['kubeConfigFile'] : '',
    retryBackoffMs: milliseconds(read['retryBackoff'], backoff),
    allowTtlMs: milliseconds(read['allowTTL'], ttl(300_000)),
    denyTtlMs: milliseconds(read['denyTTL'], ttl(30_000)),
    defaultAllow: read['defaultAllow'] === true,
  };
}
