// A pod that is created, and what may change of one that is there.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { num, obj, objs, semanticEqual, spec, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { podQosClass } from './pod-qos.ts';
import { validatePodAnnotations, validatePodAnnotationUpdate } from './validate-pod-annotations.ts';
import { validatePodSpec } from './validate-pod-spec.ts';

const validatePod = (pod: JsonObject): Errors => validatePodSpec(spec(pod), 'spec');

/** A new pod has no ephemeral containers: they come by their own subresource. */
export function validatePodCreate(pod: JsonObject): Errors {
  const errors = [...validatePodAnnotations(pod), ...validatePod(pod)];
  if (objs(spec(pod)['ephemeralContainers']).length > 0)
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  return errors;
}

export function validatePodUpdate(pod: JsonObject, old: JsonObject, subresource: string): Errors {
  // The binding endpoint writes spec.nodeName, which nobody else may; upstream writes it past all rules.
  if (subresource === 'binding') return [];
  const errors = validatePodAnnotationUpdate(pod, old);
  switch (subresource) {
    case 'status':
      return [...errors, ...statusUpdate(pod, old)];
    case 'ephemeralcontainers':
      return [...errors, ...validatePod(pod), ...ephemeralUpdate(pod, old)];
    case 'resize':
      return [...errors, ...resizeUpdate(pod, old)];
    default:
      return [...errors, ...validatePod(pod), ...specUpdate(pod, old)];
  }
}

const mayNotChange =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function withImagesOf(list: Json | undefined, from: Json | undefined): Json[] {
  const images = objs(from);
  return objs(list).map((c, i) => ({ ...c, image: images[i]?.['image'] ?? '' }));
}

function specUpdate(pod: JsonObject, old: JsonObject): Errors {
  const errors: Errors = [];
  const next = spec(pod);
  const before = spec(old);
  for (const list of ['containers', 'initContainers'])
    if (objs(next[list]).length !== objs(before[list]).length)
      return [
        forbidden(
          `spec.${list}`,
          list === 'containers'
            ? 'pod updates may not add or remove containers'
            : 'pod updates may not add or remove init containers',
        ),
      ];
  errors.push(
    ...deadlineErrors(next, before),
    ...tolerationErrors(next, before),
    ...gateErrors(next, before),
  );
  const gated = objs(before['schedulingGates']).length > 0;
  const munged: JsonObject = {
    ...next,
    containers: withImagesOf(next['containers'], before['containers']),
    activeDeadlineSeconds: before['activeDeadlineSeconds'],
    tolerations: before['tolerations'],
    schedulingGates: before['schedulingGates'],
  };
  if (objs(next['initContainers']).length > 0)
    munged['initContainers'] = withImagesOf(next['initContainers'], before['initContainers']);
  if (num(before['terminationGracePeriodSeconds']) < 0 && next['terminationGracePeriodSeconds'] === 1)
    munged['terminationGracePeriodSeconds'] = before['terminationGracePeriodSeconds'];
  if (gated) {
    // A gated pod may still be narrowed: additions to the node selector and its affinity.
    const added = Object.entries(obj(before['nodeSelector'])).every(
      ([k, v]) => obj(next['nodeSelector'])[k] === v,
    );
    if (added) munged['nodeSelector'] = before['nodeSelector'];
    else
      errors.push(invalid('spec.nodeSelector', next['nodeSelector'] ?? null, 'only additions are allowed'));
    munged['affinity'] = before['affinity'];
  }
  const changed = [...new Set([...Object.keys(munged), ...Object.keys(before)])].filter(
    (k) => !semanticEqual(munged[k], before[k]),
  );
  if (changed.length > 0)
    errors.push(forbidden('spec', `${mayNotChange}\n${changed.map((k) => `changed: spec.${k}`).join('\n')}`));
  return errors;
}

function deadlineErrors(next: JsonObject, before: JsonObject): Errors {
  const field = 'spec.activeDeadlineSeconds';
  const [a, b] = [next['activeDeadlineSeconds'], before['activeDeadlineSeconds']];
  if (a !== undefined && b !== undefined && num(a) > num(b))
    return [invalid(field, a, 'must be less than or equal to previous value')];
  return a === undefined && b !== undefined
    ? [invalid(field, a, 'must not update from a positive integer to nil value')]
    : [];
}

function tolerationErrors(next: JsonObject, before: JsonObject): Errors {
  const kept = objs(next['tolerations']).map(({ tolerationSeconds: _, ...t }) => t);
  const lost = objs(before['tolerations']).some(
    ({ tolerationSeconds: _, ...t }) => !kept.some((k) => semanticEqual(k, t)),
  );
  return lost
    ? [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
    : [];
}

function gateErrors(next: JsonObject, before: JsonObject): Errors {
  const known = new Set(objs(before['schedulingGates']).map((g) => str(g['name'])));
  return objs(next['schedulingGates'])
    .map((g) => str(g['name']))
    .filter((name) => !known.has(name))
    .map((name) =>
      forbidden('spec.schedulingGates', `only deletion is allowed, but found new scheduling gate '${name}'`),
    );
}

function ephemeralUpdate(pod: JsonObject, old: JsonObject): Errors {
  const now = new Map(objs(spec(pod)['ephemeralContainers']).map((c) => [str(c['name']), c]));
  return objs(spec(old)['ephemeralContainers']).flatMap((before) => {
    const name = str(before['name']);
    const found = now.get(name);
    if (!found)
      return [
        forbidden(
          'spec.ephemeralContainers',
          `existing ephemeral containers ${JSON.stringify(name)} may not be removed\n`,
        ),
      ];
    return semanticEqual(found, before)
      ? []
      : [
          forbidden(
            'spec.ephemeralContainers',
            `existing ephemeral containers ${JSON.stringify(name)} may not be changed\n`,
          ),
        ];
  });
}

function resizeUpdate(pod: JsonObject, old: JsonObject): Errors {
  if (str(obj(spec(old)['os'])['name']) === 'windows')
    return [forbidden('', 'windows pods cannot be resized')];
  const withoutAmounts = (podSpec: JsonObject): JsonObject => {
    const strip = (list: Json | undefined): Json[] =>
      objs(list).map((c) => ({ ...c, resizePolicy: null, resources: onlyFixed(obj(c['resources'])) }));
    const out: JsonObject = { ...podSpec, containers: strip(podSpec['containers']) };
    if (objs(podSpec['initContainers']).length > 0) out['initContainers'] = strip(podSpec['initContainers']);
    return out;
  };
  const errors = validatePod(pod);
  if (!semanticEqual(withoutAmounts(spec(pod)), withoutAmounts(spec(old))))
    errors.push(forbidden('spec', 'only cpu and memory resources are mutable'));
  const qos = podQosClass(pod);
  if (qos !== podQosClass(old))
    errors.push(invalid('spec', qos, 'Pod QOS Class may not change as a result of resizing'));
  return errors;
}
function onlyFixed(resources: JsonObject): JsonObject {
  const fixed = (list: Json | undefined): JsonObject =>
    Object.fromEntries(Object.entries(obj(list)).filter(([name]) => name !== 'cpu' && name !== 'memory'));
  return { ...resources, requests: fixed(resources['requests']), limits: fixed(resources['limits']) };
}

function statusUpdate(pod: JsonObject, old: JsonObject): Errors {
  const [next, before] = [obj(pod['status']), obj(old['status'])];
  const errors: Errors = [];
  const windows = str(obj(spec(pod)['os'])['name']) === 'windows';
  objs(next['containerStatuses']).forEach((s, i) => {
    if (windows && obj(s['user'])['linux'] !== undefined)
      errors.push(forbidden(`status.containerStatuses[${i}].user.linux`, 'cannot be set for a windows pod'));
  });
  if (
    str(before['qosClass']) !== '' &&
    str(next['qosClass']) !== '' &&
    next['qosClass'] !== before['qosClass']
  )
    errors.push(invalid('status.qosClass', next['qosClass'], 'field is immutable'));
  return errors;
}
