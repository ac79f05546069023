// The rules of metadata that hold wherever it stands: labels, annotations, owners, finalizers.

import type { Steps } from '../../base/turns.ts';
import type { JsonObject, ResourceDeclaration } from '../declaration.ts';
import type { FieldError } from '../field-error.ts';
import { forbidden, invalid, required, tooLong, tooMany } from '../field-error.ts';
import { isKnownFinalizer } from '../finalizers.ts';
import { obj, objs, str, strs } from '../json-access.ts';
import { labelValueErrors, qualifiedNameErrors } from '../labels.ts';
import { dnsLabel, type NameRule } from './names.ts';

/** As upstream's TotalAnnotationSizeLimitB. Upstream has no such limit of labels: there etcd refuses what is large. */
const maxAnnotationBytes = 256 * 1024;
const maxLabelBytes = 256 * 1024;
/** Each is looked for by the garbage collector, and each update is compared with all of them. */
const maxOwners = 2000;
const maxFinalizers = 2000;
/** Nobody reads more faults than these: the rest of the field is not looked at. */
const maxFaults = 1000;

export type MetaOf = Pick<ResourceDeclaration, 'namespaced' | 'custom' | 'group'>;

export function labelErrors(labels: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(labels)) {
    size += key.length + str(value).length;
    if (errors.length >= maxFaults) continue;
    for (const why of qualifiedNameErrors(key)) errors.push(invalid(path, key, why));
    for (const why of labelValueErrors(str(value))) errors.push(invalid(path, value, why));
  }
  if (size > maxLabelBytes) errors.push(tooLong(path, maxLabelBytes));
  return errors;
}

export function annotationErrors(annotations: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    if (errors.length < maxFaults)
      for (const why of qualifiedNameErrors(key.toLowerCase())) errors.push(invalid(path, key, why));
    size += Buffer.byteLength(key) + Buffer.byteLength(str(value));
  }
  if (size > maxAnnotationBytes) errors.push(tooLong(path, maxAnnotationBytes));
  return errors;
}

/** Upstream's kinds know their finalizers; custom ones, and the kinds that make kinds, take any name. */
const takesAnyFinalizer = ({ custom, group }: MetaOf): boolean =>
  custom || group === 'apiextensions.k8s.io' || group === 'apiregistration.k8s.io';

function finalizerErrors(finalizers: readonly string[], path: string, kind: MetaOf): FieldError[] {
  if (finalizers.length > maxFinalizers) return [tooMany(path, finalizers.length, maxFinalizers)];
  const errors: FieldError[] = [];
  for (const name of finalizers) {
    if (errors.length >= maxFaults) break;
    for (const why of qualifiedNameErrors(name)) errors.push(invalid(path, name, why));
  }
  if (!takesAnyFinalizer(kind))
    for (const [i, name] of finalizers.entries()) {
      if (errors.length >= maxFaults) break;
      if (isKnownFinalizer(name)) continue;
      const why = 'name is neither a standard finalizer name nor is it fully qualified';
      errors.push(invalid(`${path}[${i}]`, name, why));
    }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    errors.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  return errors;
}

function ownerErrors(owners: readonly JsonObject[], path: string): FieldError[] {
  if (owners.length > maxOwners) return [tooMany(path, owners.length, maxOwners)];
  const errors: FieldError[] = [];
  let controller = '';
  for (const owner of owners) {
    if (errors.length >= maxFaults) break;
    if (!/^([^/]*\/)?[^/]+$/.test(str(owner['apiVersion'])))
      errors.push(invalid(`${path}.apiVersion`, str(owner['apiVersion']), 'version must not be empty'));
    if (str(owner['kind']) === '') errors.push(invalid(`${path}.kind`, '', 'must not be empty'));
    if (str(owner['name']) === '') errors.push(invalid(`${path}.name`, '', 'must not be empty'));
    if (str(owner['uid']) === '') errors.push(invalid(`${path}.uid`, '', 'must not be empty'));
    if (owner['apiVersion'] === 'v1' && owner['kind'] === 'Event')
      errors.push(invalid(path, owner, '/v1, Kind=Event is disallowed from being an owner'));
    if (owner['controller'] === true) {
      const current = `${str(owner['kind'])}/${str(owner['name'])}`;
      if (controller !== '')
        errors.push(
          invalid(
            path,
            owners,
            `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`,
          ),
        );
      else controller = current;
    }
  }
  return errors;
}

/** A prefix is held to the rule of names as well, though another name was given; a dash at its end is no end. */
export function ruledNames(meta: JsonObject, nameRule: NameRule): FieldError[] {
  const [name, prefix] = [str(meta['name']), str(meta['generateName'])];
  const begun = prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
  return [
    ...(prefix === '' ? [] : nameRule(begun)).map((why) => invalid('metadata.generateName', prefix, why)),
    ...(name === '' ? [] : nameRule(name)).map((why) => invalid('metadata.name', name, why)),
  ];
}

/** Upstream's ValidateObjectMeta. The kind's own name rule comes on top, in its strategy. Labels and annotations may be thousands. */
export function* validateObjectMeta(meta: JsonObject, kind: MetaOf): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  const path = 'metadata';
  const name = str(meta['name']);
  if (name === '') errors.push(required(`${path}.name`, 'name or generateName is required'));
  if (kind.namespaced) {
    const namespace = str(meta['namespace']);
    if (namespace === '') errors.push(required(`${path}.namespace`));
    else errors.push(...dnsLabel(namespace).map((why) => invalid(`${path}.namespace`, namespace, why)));
  } else if (str(meta['namespace']) !== '')
    errors.push(forbidden(`${path}.namespace`, 'not allowed on this type'));
  errors.push(...labelErrors(obj(meta['labels']), `${path}.labels`));
  yield;
  errors.push(...annotationErrors(obj(meta['annotations']), `${path}.annotations`));
  yield;
  errors.push(
    ...ownerErrors(objs(meta['ownerReferences']), `${path}.ownerReferences`),
    ...finalizerErrors(strs(meta['finalizers']), `${path}.finalizers`, kind),
  );
  return errors;
}
