// How often a DaemonSet's template was changed. Upstream's field of that name is gone; it is counted on in an annotation.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { ensured } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { badRequest } from '../../../apimachinery/errors.ts';
import type { DaemonSet } from '../../generated/types/apps-v1.ts';

const annotation = 'deprecated.daemonset.template.generation';
const mostOfInt64 = 2n ** 63n - 1n;

const textOf = (set: Decoded<DaemonSet>): string | undefined => set.metadata?.annotations?.[annotation];

/** Throws 400 for what upstream can't read either. */
function read(text: string): bigint {
  const refused = (why: string): never => {
    throw badRequest(
      `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`,
    );
  };
  // Longer than any number that fits, it need not be read.
  if (!/^[+-]?\d+$/.test(text)) return refused('invalid syntax');
  const value = text.length > 64 ? mostOfInt64 + 1n : BigInt(text.replace(/^\+/, ''));
  return value > mostOfInt64 || value < -mostOfInt64 - 1n ? refused('value out of range') : value;
}

const keep = (set: Decoded<DaemonSet>, value: bigint): void => {
  ensured(ensured(set, 'metadata'), 'annotations')[annotation] = String(value);
};

/** What is not said is 0, as in the field. */
export function defaultTemplateGeneration(set: Decoded<DaemonSet>): void {
  if (textOf(set) === undefined) keep(set, 0n);
}

export function beginTemplateGeneration(set: Decoded<DaemonSet>): void {
  const value = read(textOf(set) ?? '0');
  keep(set, value < 1n ? 1n : value);
}

/** Nobody else sets it: a new template is one more. */
export function countTemplateGeneration(set: Decoded<DaemonSet>, old: Decoded<DaemonSet>): void {
  const before = textOf(old);
  const sent = textOf(set);
  if (sent !== undefined && sent !== before) read(sent);
  // One that was stored before they were counted may hold anything.
  const value = /^-?\d{1,19}$/.test(before ?? '') ? BigInt(before!) : 0n;
  const count = semanticEqual(set.spec?.template, old.spec?.template) ? value : value + 1n;
  keep(set, BigInt.asIntN(64, count));
}
