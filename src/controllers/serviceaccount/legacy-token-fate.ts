// What becomes of a token in a Secret that its account lists and no pod mounts, by the days that its labels tell.
import type { Secret } from '../../api/generated/types/core-v1.ts';

export const invalidSinceLabel = 'kubernetes.io/legacy-token-invalid-since';
const lastUsedLabel = 'kubernetes.io/legacy-token-last-used';
const dayMs = 86_400_000;

export const dayOfMs = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The day's start; undefined for what is no day. */
function startOf(day: string | undefined): number | undefined {
  if (day === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) || dayOfMs(at) !== day ? undefined : at;
}

/** `since`: the first day on which uses were noted. Days compare as texts, as upstream. */
export function legacyTokenFate(
  { metadata }: Secret,
  {
    now,
    since,
    periodMs,
  }: { readonly now: number; readonly since: string | undefined; readonly periodMs: number },
): 'keep' | 'mark' | 'delete' {
  const noted = startOf(since);
  if (noted === undefined || now < noted + dayMs + periodMs) return 'keep';
  if (metadata.deletionTimestamp !== undefined) return 'keep';
  if (Date.parse(metadata.creationTimestamp ?? '') >= now - periodMs) return 'keep';
  const oldest = dayOfMs(now - periodMs);
  const used = metadata.labels?.[lastUsedLabel];
  if (used !== undefined && (startOf(used) === undefined || used >= oldest)) return 'keep';
  const invalid = metadata.labels?.[invalidSinceLabel];
  if (invalid === undefined || startOf(invalid) === undefined) return 'mark';
  return invalid >= oldest ? 'keep' : 'delete';
}
