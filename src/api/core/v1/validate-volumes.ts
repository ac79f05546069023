// Volumes of a pod: their names, and that each is one thing.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import type { PodSpec, Volume } from '../../generated/types/core-v1.ts';
import { sourcesOfPods, sourcesOfTemplates } from './pod-volume-sources.ts';
import { iscsiNameLong, isIscsiNameLong, oneSource } from './volume-sources.ts';

/** `isPod`: not the template of pods. */
export function validateVolumes(podSpec: Decoded<PodSpec>, path: string, isPod: boolean): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  const rules = isPod ? sourcesOfPods : sourcesOfTemplates;
  (podSpec.volumes ?? []).forEach((volume, i) => {
    const at = `${path}.volumes[${i}]`;
    const name = volume.name ?? '';
    errors.push(...oneSource<Volume>(at, volume, rules));
    if (volume.iscsi !== undefined && isIscsiNameLong(volume.iscsi, name))
      errors.push(invalid(`${at}.name`, name, iscsiNameLong));
    if (name === '') errors.push(required(`${at}.name`));
    else errors.push(...each(`${at}.name`, name, dnsLabel));
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
  });
  return errors;
}
