// Annotations of a pod that the kubelet or an admission plugin obeys: what they may say, and that they stay as they were.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import type { Pod, PodSpec } from '../../generated/types/core-v1.ts';
import { localDescendingPath } from './volume-paths.ts';

const mirror = 'kubernetes.io/config.mirror';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';
const seccompOfPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompOfContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const seccompNames = ['runtime/default', 'docker/default', 'unconfined'];
const appArmorNames = ['', 'runtime/default', 'unconfined'];

type Annotations = Readonly<Record<string, string | undefined>>;

const annotationsOf = (pod: Decoded<Pod>): Annotations => pod.metadata?.annotations ?? {};

/** Upstream goes through a map, in no order; here the order is that of the names. */
const sorted = (annotations: Annotations): [string, string][] =>
  Object.keys(annotations)
    .sort()
    .map((key) => [key, annotations[key] ?? '']);

function seccomp(field: string, profile: string): Errors {
  if (seccompNames.includes(profile)) return [];
  if (profile.startsWith('localhost/')) return localDescendingPath(field, profile.slice('localhost/'.length));
  return [invalid(field, profile, 'must be a valid seccomp profile')];
}

const containerNames = (podSpec: Decoded<PodSpec>): ReadonlySet<string | undefined> =>
  new Set(
    (['containers', 'initContainers', 'ephemeralContainers'] as const).flatMap((list) =>
      (podSpec[list] ?? []).map(({ name }) => name),
    ),
  );

function appArmorOf(
  names: ReadonlySet<string | undefined>,
  field: string,
  container: string,
  profile: string,
): Errors {
  const known = names.has(container);
  const formed = appArmorNames.includes(profile) || profile.startsWith('localhost/');
  return [
    ...(known ? [] : [invalid(field, container, 'container not found')]),
    ...(formed ? [] : [invalid(field, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`)]),
  ];
}

/** What annotations of a pod, or of a pod template, may say: upstream's ValidatePodSpecificAnnotations. */
export function podAnnotations(annotations: Annotations, podSpec: Decoded<PodSpec>, at: string): Errors {
  const errors: Errors = [];
  if (annotations[mirror] !== undefined && !podSpec.nodeName)
    errors.push(
      invalid(
        `${at}[${mirror}]`,
        annotations[mirror],
        'must set spec.nodeName if mirror pod annotation is set',
      ),
    );
  let names: ReadonlySet<string | undefined> | undefined;
  for (const [key, value] of sorted(annotations)) {
    if (key === seccompOfPod || key.startsWith(seccompOfContainer))
      errors.push(...seccomp(`${at}.${key}`, value));
    if (!key.startsWith(appArmor)) continue;
    names ??= containerNames(podSpec);
    errors.push(...appArmorOf(names, `${at}[${key}]`, key.slice(appArmor.length), value));
  }
  return errors;
}

/** An int32 as Go's ParseInt reads it, without a plus sign or leading zeros. */
function isCost(value: string): boolean {
  if (!/^(0|-[0-9]+|[1-9][0-9]*)$/.test(value)) return false;
  const cost = Number(value);
  return cost >= -(2 ** 31) && cost < 2 ** 31;
}

const badCost = (pod: Decoded<Pod>): boolean => {
  const cost = annotationsOf(pod)[deletionCost];
  return cost !== undefined && !isCost(cost ?? '');
};

const path = 'metadata.annotations';

/** The annotations of a pod; what was wrong with the old one's deletion cost may stay wrong. */
export function validatePodAnnotations(pod: Decoded<Pod>, old?: Decoded<Pod>): Errors {
  const errors = podAnnotations(annotationsOf(pod), pod.spec ?? {}, path);
  if (badCost(pod) && !(old !== undefined && badCost(old)))
    errors.push(
      invalid(`${path}[${deletionCost}]`, annotationsOf(pod)[deletionCost], 'must be a 32bit integer'),
    );
  return errors;
}

/** A profile is read each time a container starts, and a mirror is trusted to be one: neither comes later, goes or changes. */
export function validatePodAnnotationUpdate(pod: Decoded<Pod>, old: Decoded<Pod>): Errors {
  const [now, before] = [annotationsOf(pod), annotationsOf(old)];
  const errors: Errors = [];
  const tell = (key: string, what: string): void => {
    const field = `${path}[${key}]`;
    if (key.startsWith(appArmor)) errors.push(forbidden(field, `may not ${what} AppArmor annotations`));
    if (key === mirror) errors.push(forbidden(field, `may not ${what} mirror pod annotation`));
  };
  for (const [key, value] of sorted(before)) if (now[key] !== value) tell(key, 'remove or update');
  for (const [key] of sorted(now)) if (before[key] === undefined) tell(key, 'add');
  return [...errors, ...validatePodAnnotations(pod, old)];
}
