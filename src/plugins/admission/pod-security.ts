// PodSecurity: the levels that a namespace's labels enforce, audit and warn of.
import {
  cronjobs,
  daemonsets,
  deployments,
  jobs,
  namespaces,
  pods,
  podtemplates,
  replicasets,
  replicationcontrollers,
  statefulsets,
} from '../../api/generated/resources.ts';
import type { Container, Pod, PodSpec } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { forbidden, invalidObject } from '../../apimachinery/errors.ts';
import { meta, obj, spec } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { seccompOfContainer } from './pod-security/baseline-checks.ts';
import { violationsOf, violationText } from './pod-security/evaluate.ts';
import { warningsOfExistingPods } from './pod-security/existing-pods.ts';
import type { JudgedPod } from './pod-security/pod-visitor.ts';
import {
  type LevelVersion,
  levelText,
  type Policy,
  policyOf,
  samePolicy,
  strictness,
} from './pod-security/policy.ts';
import { isAbout } from './request/typed-request.ts';

const templated = [
  daemonsets,
  deployments,
  jobs,
  replicasets,
  replicationcontrollers,
  statefulsets,
  podtemplates,
  cronjobs,
];

/** These change nothing of a pod's spec. Others are judged, also those that are not known yet. */
const ignoredSubresources: readonly string[] = [
  'attach',
  'binding',
  'eviction',
  'exec',
  'log',
  'portforward',
  'proxy',
  'status',
];

const labelsOf = (object: JsonObject | undefined): Readonly<Record<string, string>> =>
  obj(meta(object ?? {})['labels']) as Readonly<Record<string, string>>;

const annotationsOf = (object: JsonObject): Readonly<Record<string, string>> =>
  obj(meta(object)['annotations']) as Readonly<Record<string, string>>;

const judgedPod = (pod: JsonObject): JudgedPod => ({
  annotations: annotationsOf(pod),
  spec: (pod as unknown as Pod).spec,
});

/** The pod that a template makes; undefined when there is none. */
function templatedPod(request: AdmissionRequest, object: JsonObject): JudgedPod | undefined {
  const template = isAbout(request, podtemplates)
    ? obj(object['template'])
    : isAbout(request, cronjobs)
      ? obj(spec(obj(spec(object)['jobTemplate']))['template'])
      : obj(spec(object)['template']);
  const podSpec = obj(template['spec']);
  if (!Array.isArray(podSpec['containers'])) return undefined;
  return { annotations: annotationsOf(template), spec: podSpec as unknown as PodSpec };
}

/** What may change of a pod and matters here, as upstream: images, ephemeral containers that come, and annotations of seccomp. */
function isSignificant(now: JudgedPod, old: JudgedPod): boolean {
  const differs = (c: Container, before: Container | undefined): boolean => {
    const seccomp = `${seccompOfContainer}${c.name}`;
    return c.image !== before?.image || now.annotations[seccomp] !== old.annotations[seccomp];
  };
  const changed = (a: readonly Container[], b: readonly Container[]): boolean =>
    a.length !== b.length || a.some((c, i) => differs(c, b[i]));
  if (changed(now.spec.containers, old.spec.containers)) return true;
  if (changed(now.spec.initContainers ?? [], old.spec.initContainers ?? [])) return true;
  const known = old.spec.ephemeralContainers ?? [];
  return (now.spec.ephemeralContainers ?? []).some((c) =>
    differs(
      c,
      known.find((o) => o.name === c.name),
    ),
  );
}

function judge(request: AdmissionRequest, policy: Policy, pod: JudgedPod, enforced: boolean): void {
  const said = (level: LevelVersion): string => {
    const text = violationText(violationsOf(level, pod));
    return text === '' ? '' : `PodSecurity ${JSON.stringify(levelText(level))}: ${text}`;
  };
  if (enforced) request.annotate('pod-security.kubernetes.io/enforce-policy', levelText(policy.enforce));
  const audited = said(policy.audit);
  if (audited !== '')
    request.annotate('pod-security.kubernetes.io/audit-violations', `would violate ${audited}`);
  const refused = enforced ? said(policy.enforce) : '';
  if (refused !== '') throw forbidden(request.declaration, request.name, `violates ${refused}`);
  const warned = said(policy.warn);
  if (warned !== '') request.warn(`would violate ${warned}`);
}

export function createPodSecurity(live: LiveObjects): AdmissionPlugin {
  const checkNamespace = (request: AdmissionRequest): void => {
    if (request.subresource !== '') return;
    const now = policyOf(labelsOf(request.object));
    const old = request.oldObject === undefined ? undefined : policyOf(labelsOf(request.oldObject));
    // What could not be read before may stay as it is.
    const known = old !== undefined && jsonEqual(now.errors as never, old.errors as never);
    if (now.errors.length > 0 && !known) throw invalidObject(request.declaration, request.name, now.errors);
    if (old === undefined) return;
    const { enforce } = now.policy;
    const before = old.policy.enforce;
    if (samePolicy(enforce, before) || enforce.level === 'privileged') return;
    if (enforce.minor === before.minor && strictness(enforce.level) <= strictness(before.level)) return;
    const existing = live.list(pods, { namespace: request.name });
    for (const text of warningsOfExistingPods(request.name, enforce, existing)) request.warn(text);
  };

  return {
    name: 'PodSecurity',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const { object, oldObject, namespace, declaration, subresource } = request;
      if (object === undefined) return;
      if (declaration.group === namespaces.group && declaration.resource === namespaces.resource)
        return checkNamespace(request);
      const ofPod = declaration.group === pods.group && declaration.resource === pods.resource;
      if (ofPod ? ignoredSubresources.includes(subresource) : !templated.some((t) => isAbout(request, t)))
        return;
      const { policy } = policyOf(live.get(namespaces, namespace)?.metadata?.labels ?? {});
      const { enforce, audit, warn } = policy;
      if ([enforce, audit, warn].every(({ level }) => level === 'privileged')) return;
      if (!ofPod) {
        const made = templatedPod(request, object);
        if (made !== undefined) judge(request, policy, made, false);
        return;
      }
      const pod = judgedPod(object);
      if (oldObject !== undefined && !isSignificant(pod, judgedPod(oldObject))) return;
      judge(request, policy, pod, true);
    },
  };
}
