// PodSecurity: the levels that a namespace's labels enforce, audit and warn of.

import type { PodSecurityConfiguration } from '../../api/config/pod-security-configuration.ts';
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
import { fieldErrorText } from '../../apimachinery/field-error.ts';
import { meta, nameOf, obj, spec } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { seccompOfContainer } from './pod-security/baseline-checks.ts';
import { violationsOf, violationText } from './pod-security/evaluate.ts';
import { warningsOfExistingPods } from './pod-security/existing-pods.ts';
import type { PodSecurityCounts } from './pod-security/pod-security-metrics.ts';
import type { JudgedPod } from './pod-security/pod-visitor.ts';
import {
  hasLabel,
  isPrivileged,
  type LevelVersion,
  levelText,
  levelVersion,
  type Policy,
  policyOf,
  privilegedPolicy,
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

type Labels = Readonly<Record<string, string>>;

const labelsOf = (object: JsonObject | undefined): Labels => obj(meta(object ?? {})['labels']) as Labels;

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

/** What may change of a pod and matters here: as upstream, images and ephemeral containers that come; and annotations of seccomp. */
function isSignificant(now: JudgedPod, old: JudgedPod): boolean {
  const differs = (c: Container, before: Container | undefined): boolean => {
    const seccomp = `${seccompOfContainer}${c.name}`;
    return c.image !== before?.image || now.annotations[seccomp] !== old.annotations[seccomp];
  };
  const changed = (a: readonly Container[], b: readonly Container[]): boolean =>
    a.length !== b.length || a.some((c, i) => differs(c, b[i]));
  if (changed(now.spec.containers, old.spec.containers)) return true;
  if (changed(now.spec.initContainers ?? [], old.spec.initContainers ?? [])) return true;
  const known = Map.groupBy(old.spec.ephemeralContainers ?? [], ({ name }) => name);
  return (now.spec.ephemeralContainers ?? []).some((c) => differs(c, known.get(c.name)?.[0]));
}

const annotation = (name: string): string => `pod-security.kubernetes.io/${name}`;

function judge(
  request: AdmissionRequest,
  policy: Policy,
  pod: JudgedPod,
  { enforced, counts }: { readonly enforced: boolean; readonly counts: PodSecurityCounts | undefined },
): void {
  const said = (mode: keyof Policy): string => {
    const level = policy[mode];
    const text = violationText(violationsOf(level, pod));
    // As upstream: what is only told of counts when there is something to tell.
    if (text !== '' || mode === 'enforce')
      counts?.judged(request, mode, level, text === '' ? 'allow' : 'deny');
    return text === '' ? '' : `PodSecurity ${JSON.stringify(levelText(level))}: ${text}`;
  };
  if (enforced) request.annotate(annotation('enforce-policy'), levelText(policy.enforce));
  const audited = said('audit');
  if (audited !== '') request.annotate(annotation('audit-violations'), `would violate ${audited}`);
  const refused = enforced ? said('enforce') : '';
  if (refused !== '') throw forbidden(request.declaration, request.name, `violates ${refused}`);
  const warned = said('warn');
  if (warned !== '') request.warn(`would violate ${warned}`);
}

/** Who is not judged, and what holds for namespaces that say nothing. */
interface Settings {
  readonly defaults: Policy;
  isExempt(kind: 'usernames' | 'namespaces' | 'runtimeClasses', name: string | undefined): boolean;
}

function settingsOf(configuration: PodSecurityConfiguration | undefined): Settings {
  if (configuration === undefined) return { defaults: privilegedPolicy, isExempt: () => false };
  const { defaults, exemptions } = configuration;
  const of = (mode: keyof Policy): LevelVersion => levelVersion(defaults[mode], defaults[`${mode}-version`]);
  return {
    defaults: { enforce: of('enforce'), audit: of('audit'), warn: of('warn') },
    isExempt: (kind, name) => name !== undefined && name !== '' && exemptions[kind].includes(name),
  };
}

/** Of labels that do nothing; undefined when they ask for no more than what holds anyway. */
function exemptWarning(name: string, labels: Labels, policy: Policy, defaults: Policy): string | undefined {
  const same = (mode: keyof Policy): boolean =>
    samePolicy(policy[mode], defaults[mode]) ||
    (policy[mode].level === 'privileged' && defaults[mode].level === 'privileged');
  const modes = ['enforce', 'audit', 'warn'] as const;
  if (isPrivileged(policy) || modes.every(same)) return undefined;
  const told = modes
    .filter((mode) => policy[mode].level !== 'privileged')
    .filter((mode) => hasLabel(labels, mode) || hasLabel(labels, `${mode}-version`))
    .map((mode) => `${mode}=${levelText(policy[mode])}`);
  return `namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy (${told.join(', ')}) will be ignored`;
}

function createNamespaceCheck(
  live: LiveObjects,
  { defaults, isExempt }: Settings,
): (request: AdmissionRequest) => void {
  return (request) => {
    if (request.subresource !== '') return;
    const labels = labelsOf(request.object);
    const now = policyOf(labels, defaults);
    const old = request.oldObject === undefined ? undefined : policyOf(labelsOf(request.oldObject), defaults);
    // What could not be read before may stay as it is.
    const known = old !== undefined && jsonEqual(now.errors as never, old.errors as never);
    if (now.errors.length > 0 && !known) throw invalidObject(request.declaration, request.name, now.errors);
    const { enforce } = now.policy;
    if (old !== undefined) {
      const before = old.policy.enforce;
      if (samePolicy(enforce, before) || enforce.level === 'privileged') return;
      if (enforce.minor === before.minor && strictness(enforce.level) <= strictness(before.level)) return;
    }
    const name = nameOf(request.object ?? {});
    if (isExempt('namespaces', name)) {
      const warning = exemptWarning(name, labels, now.policy, defaults);
      if (warning !== undefined) request.warn(warning);
    } else if (old !== undefined) {
      const existing = live
        .list(pods, { namespace: name })
        .filter(({ spec }) => !isExempt('runtimeClasses', spec.runtimeClassName));
      for (const text of warningsOfExistingPods(name, enforce, existing)) request.warn(text);
    }
  };
}

/** What a request is about here; undefined: nothing that is judged. */
function subjectOf(request: AdmissionRequest): 'namespace' | 'pod' | 'template' | undefined {
  const { declaration, subresource } = request;
  if (declaration.group === namespaces.group && declaration.resource === namespaces.resource)
    return 'namespace';
  if (declaration.group === pods.group && declaration.resource === pods.resource)
    return ignoredSubresources.includes(subresource) ? undefined : 'pod';
  return templated.some((one) => isAbout(request, one)) ? 'template' : undefined;
}

export function createPodSecurity(
  live: LiveObjects,
  configuration?: PodSecurityConfiguration,
  counts?: PodSecurityCounts,
): AdmissionPlugin {
  const settings = settingsOf(configuration);
  const { defaults, isExempt } = settings;
  const checkNamespace = createNamespaceCheck(live, settings);
  const exempt = (request: AdmissionRequest, reason: string): void => {
    counts?.exempted(request);
    request.annotate(annotation('exempt'), reason);
  };

  return {
    name: 'PodSecurity',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const { object, oldObject, namespace } = request;
      const subject = object === undefined ? undefined : subjectOf(request);
      if (object === undefined || subject === undefined) return;
      if (subject === 'namespace') return checkNamespace(request);
      if (isExempt('namespaces', namespace)) return exempt(request, 'namespace');
      if (isExempt('usernames', request.user.name)) return exempt(request, 'user');
      const { policy, errors } = policyOf(live.get(namespaces, namespace)?.metadata?.labels ?? {}, defaults);
      // What only enforces says nothing of templates.
      const asked = subject === 'pod' ? policy : { ...policy, enforce: policy.audit };
      if (errors.length === 0 && isPrivileged(asked)) {
        if (subject !== 'pod') return;
        counts?.judged(request, 'enforce', policy.enforce, 'allow');
        return request.annotate(annotation('enforce-policy'), 'privileged:latest');
      }
      const judged = subject === 'pod' ? judgedPod(object) : templatedPod(request, object);
      if (judged === undefined) return;
      if (subject === 'pod' && oldObject !== undefined && !isSignificant(judged, judgedPod(oldObject)))
        return;
      if (isExempt('runtimeClasses', judged.spec.runtimeClassName)) return exempt(request, 'runtimeClass');
      if (errors.length > 0) {
        counts?.misread(request);
        const why = listText(errors.map(fieldErrorText));
        request.annotate(annotation('error'), `Failed to parse policy: ${why}`);
      }
      judge(request, policy, judged, { enforced: subject === 'pod', counts });
    },
  };
}

/** As Go's aggregated errors. */
const listText = (texts: readonly string[]): string =>
  texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
