// PodSecurity: the levels that a namespace's labels enforce, and warn of.
import {
  cronjobs,
  daemonsets,
  deployments,
  jobs,
  namespaces,
  pods,
  replicasets,
  replicationcontrollers,
  statefulsets,
} from '../../api/generated/resources.ts';
import type { PodSpec } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import { jsonEqual, obj, spec } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { baselineChecks } from './pod-security/baseline-checks.ts';
import type { Level, PodSecurityCheck } from './pod-security/pod-visitor.ts';
import { restrictedChecks } from './pod-security/restricted-checks.ts';
import { isAbout } from './request/typed-request.ts';

const prefix = 'pod-security.kubernetes.io/';
const templated = [
  cronjobs,
  daemonsets,
  deployments,
  jobs,
  replicasets,
  replicationcontrollers,
  statefulsets,
];

/** As upstream: what cannot be read is the strictest. */
const levelOf = (text: string | undefined): Level =>
  text === undefined || text === '' || text === 'privileged'
    ? 'privileged'
    : text === 'baseline'
      ? 'baseline'
      : 'restricted';

function checksOf(level: Level): readonly PodSecurityCheck[] {
  if (level === 'privileged') return [];
  if (level === 'baseline') return baselineChecks;
  const replaced = new Set(restrictedChecks.map((check) => check.id));
  return [...baselineChecks.filter((check) => !replaced.has(check.id)), ...restrictedChecks];
}

/** `privileged (…), hostPort (…)`, or '' when the pod is fine. */
function violations(level: Level, podSpec: PodSpec): string {
  return checksOf(level)
    .map((check) => check.check(podSpec))
    .filter((violation) => violation !== undefined)
    .map(({ reason, detail }) => `${reason} (${detail})`)
    .join(', ');
}

function podSpecOf(request: AdmissionRequest, object: JsonObject): PodSpec | undefined {
  if (isAbout(request, pods) || isAbout(request, pods, 'ephemeralcontainers')) {
    return spec(object) as unknown as PodSpec;
  }
  if (!templated.some((resource) => isAbout(request, resource))) return undefined;
  const outer = isAbout(request, cronjobs) ? obj(spec(object).jobTemplate) : object;
  const inner = obj(obj(spec(outer).template).spec);
  return Array.isArray(inner.containers) ? (inner as unknown as PodSpec) : undefined;
}

export function createPodSecurity(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const { object, oldObject, namespace } = request;
      if (object === undefined || namespace === '') return;
      const labels: Readonly<Record<string, string | undefined>> =
        live.get(namespaces, namespace)?.metadata?.labels ?? {};
      const label = (name: string): string | undefined =>
        Object.hasOwn(labels, prefix + name) ? labels[prefix + name] : undefined;
      const enforce = levelOf(label('enforce'));
      const warn = levelOf(label('warn'));
      if (enforce === 'privileged' && warn === 'privileged') return;
      const podSpec = podSpecOf(request, object);
      if (podSpec === undefined) return;
      // An update that does not touch the pod's nature is let through, whatever the labels say by now.
      if (oldObject !== undefined && jsonEqual(spec(object), spec(oldObject))) return;
      const said = (mode: string, level: Level): string => `${level}:${label(`${mode}-version`) ?? 'latest'}`;
      if (request.declaration.resource === pods.resource) {
        const why = violations(enforce, podSpec);
        if (why !== '') {
          throw forbidden(
            request.declaration,
            request.name,
            `violates PodSecurity ${JSON.stringify(said('enforce', enforce))}: ${why}`,
          );
        }
      }
      const concern = violations(warn, podSpec);
      if (concern !== '') {
        request.warn(`would violate PodSecurity ${JSON.stringify(said('warn', warn))}: ${concern}`);
      }
    },
  };
}
