// A pod that is created, and what may change of one that is there.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { forbidden, invalid } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { changedFields, newErrors } from '../../../apimachinery/validation/checks.ts';
import type {
  Affinity,
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  ResourceRequirements,
  Toleration,
} from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';
import { podQosClass } from './pod-qos.ts';
import { validatePodAnnotations, validatePodAnnotationUpdate } from './validate-pod-annotations.ts';
import { validatePodSpec } from './validate-pod-spec.ts';
import { validatePodStatus } from './validate-pod-status.ts';

const validatePod = (pod: Decoded<Pod>): Errors => validatePodSpec(pod.spec ?? {}, 'spec');

/** A new pod has no ephemeral containers: they come by their own subresource. */
export function validatePodCreate(pod: Decoded<Pod>): Errors {
  const errors = [...validatePodAnnotations(pod), ...validatePod(pod)];
  if ((pod.spec?.ephemeralContainers ?? []).length > 0)
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  return errors;
}

export function validatePodUpdate(pod: Decoded<Pod>, old: Decoded<Pod>, subresource: string): Errors {
  // The binding endpoint writes spec.nodeName, which nobody else may; upstream writes it past all rules.
  if (subresource === 'binding') return [];
  const errors = validatePodAnnotationUpdate(pod, old);
  switch (subresource) {
    case 'status':
      return [...errors, ...validatePodStatus(pod, old)];
    case 'ephemeralcontainers':
      if (isStatic(old)) return [forbidden('', 'static pods do not support ephemeral containers')];
      return [
        ...errors,
        ...newErrors(validatePod(pod), () => validatePod(old)),
        ...ephemeralUpdate(pod, old),
      ];
    case 'resize':
      return [...errors, ...resizeUpdate(pod, old)];
    default:
      return [...errors, ...newErrors(validatePod(pod), () => validatePod(old)), ...specUpdate(pod, old)];
  }
}

const mayNotChange =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

type ResourceList = Record<string, Quantity>;
type Containers = Decoded<Container[]>;

function withImagesOf(list: Containers = [], from: Containers = []): Containers {
  return list.map((container, i) => ({ ...container, image: from[i]?.image ?? '' }));
}

function specUpdate(pod: Decoded<Pod>, old: Decoded<Pod>): Errors {
  const errors: Errors = [];
  const next: Decoded<PodSpec> = pod.spec ?? {};
  const before: Decoded<PodSpec> = old.spec ?? {};
  for (const list of ['containers', 'initContainers'] as const)
    if ((next[list]?.length ?? 0) !== (before[list]?.length ?? 0))
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
  const gated = (before.schedulingGates?.length ?? 0) > 0;
  const munged: Decoded<PodSpec> = {
    ...next,
    containers: withImagesOf(next.containers, before.containers),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    tolerations: before.tolerations,
    schedulingGates: before.schedulingGates,
  };
  if (next.initContainers?.length)
    munged.initContainers = withImagesOf(next.initContainers, before.initContainers);
  if ((before.terminationGracePeriodSeconds ?? 0) < 0 && next.terminationGracePeriodSeconds === 1)
    munged.terminationGracePeriodSeconds = before.terminationGracePeriodSeconds;
  if (gated) {
    errors.push(...placeChange(next, before));
    munged.nodeSelector = before.nodeSelector;
    munged.affinity = withNodeAffinity(next.affinity, before.affinity?.nodeAffinity);
  }
  const changed = changedFields(munged, before);
  if (changed.length > 0)
    errors.push(forbidden('spec', `${mayNotChange}\n${changed.map((k) => `changed: spec.${k}`).join('\n')}`));
  return errors;
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';

/** `affinity` as it would be had the nodes not been chosen anew; of nothing, nothing. */
function withNodeAffinity(
  affinity: Decoded<Affinity> | undefined,
  nodeAffinity: Decoded<NodeAffinity> | undefined,
): Decoded<Affinity> | undefined {
  const { nodeAffinity: _new, ...others } = affinity ?? {};
  const merged = nodeAffinity === undefined ? others : { ...others, nodeAffinity };
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** A gated pod may still be narrowed: its node selector and the terms of its node affinity only grow. */
function placeChange(next: Decoded<PodSpec>, before: Decoded<PodSpec>): Errors {
  const errors: Errors = [];
  const selects = Object.entries(before.nodeSelector ?? {});
  if (!selects.every(([key, value]) => next.nodeSelector?.[key] === value))
    errors.push(
      invalid(
        'spec.nodeSelector',
        next.nodeSelector ?? null,
        'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ),
    );
  const at = `spec.affinity.nodeAffinity.${hard}.nodeSelectorTerms`;
  const was = before.affinity?.nodeAffinity?.[hard]?.nodeSelectorTerms ?? [];
  const terms = next.affinity?.nodeAffinity?.[hard]?.nodeSelectorTerms ?? [];
  if (was.length === 0) return errors;
  if (was.length !== terms.length)
    return [
      ...errors,
      invalid(at, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'),
    ];
  was.forEach((term, i) => {
    if (!onlyAdds(terms[i]!, term))
      errors.push(invalid(`${at}[${i}]`, terms[i], 'only additions are allowed (no mutations or deletions)'));
  });
  return errors;
}

function onlyAdds(next: Decoded<NodeSelectorTerm>, before: Decoded<NodeSelectorTerm>): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  const empty = lists.every((list) => (before[list] ?? []).length === 0);
  // An empty term takes no node: whatever comes to it would take more.
  if (empty) return lists.every((list) => (next[list] ?? []).length === 0);
  return lists.every((list) => {
    const was = before[list] ?? [];
    return semanticEqual((next[list] ?? []).slice(0, was.length), was);
  });
}

function deadlineErrors(next: Decoded<PodSpec>, before: Decoded<PodSpec>): Errors {
  const field = 'spec.activeDeadlineSeconds';
  const [a, b] = [next.activeDeadlineSeconds, before.activeDeadlineSeconds];
  if (a !== undefined && b !== undefined && a > b)
    return [invalid(field, a, 'must be less than or equal to previous value')];
  return a === undefined && b !== undefined
    ? [invalid(field, a, 'must not update from a positive integer to nil value')]
    : [];
}

/** All of it but for how long. */
const tolerationKey = ({ key = '', operator = '', value = '', effect = '' }: Decoded<Toleration>): string =>
  JSON.stringify([key, operator, value, effect]);

function tolerationErrors(next: Decoded<PodSpec>, before: Decoded<PodSpec>): Errors {
  const was = before.tolerations ?? [];
  if (was.length === 0) return [];
  const kept = new Set((next.tolerations ?? []).map(tolerationKey));
  return was.every((one) => kept.has(tolerationKey(one)))
    ? []
    : [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

function gateErrors(next: Decoded<PodSpec>, before: Decoded<PodSpec>): Errors {
  const known = new Set((before.schedulingGates ?? []).map((g) => g.name ?? ''));
  return (next.schedulingGates ?? []).flatMap(({ name = '' }, i) =>
    known.has(name)
      ? []
      : [
          forbidden(
            `spec.schedulingGates[${i}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

const isStatic = (pod: Decoded<Pod>): boolean =>
  pod.metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined;

function ephemeralUpdate(pod: Decoded<Pod>, old: Decoded<Pod>): Errors {
  const now = new Map((pod.spec?.ephemeralContainers ?? []).map((c) => [c.name ?? '', c]));
  return (old.spec?.ephemeralContainers ?? []).flatMap((before) => {
    const name = before.name ?? '';
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

function resizeUpdate(pod: Decoded<Pod>, old: Decoded<Pod>): Errors {
  if (isStatic(old)) return [forbidden('', 'static pods cannot be resized')];
  if (old.spec?.os?.name === 'windows') return [forbidden('', 'windows pods cannot be resized')];
  const strip = (list: Containers = []): Containers =>
    list.map((c) => ({ ...c, resizePolicy: undefined, resources: onlyFixed(c.resources) }));
  const withoutAmounts = (podSpec: Decoded<PodSpec>): Decoded<PodSpec> => ({
    ...podSpec,
    containers: strip(podSpec.containers),
    initContainers: strip(podSpec.initContainers),
  });
  const errors = newErrors(validatePod(pod), () => validatePod(old));
  if (!semanticEqual(withoutAmounts(pod.spec ?? {}), withoutAmounts(old.spec ?? {})))
    errors.push(forbidden('spec', 'only cpu and memory resources are mutable'));
  const qos = podQosClass(pod);
  if (qos !== podQosClass(old))
    errors.push(invalid('spec', qos, 'Pod QOS Class may not change as a result of resizing'));
  return errors;
}
function onlyFixed(resources: Decoded<ResourceRequirements> = {}): Decoded<ResourceRequirements> {
  const fixed = ({ cpu: _, memory: __, ...others }: Decoded<ResourceList> = {}): Decoded<ResourceList> =>
    others;
  return { ...resources, requests: fixed(resources.requests), limits: fixed(resources.limits) };
}
