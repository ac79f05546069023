// Pod Security, level restricted: what hardening asks for, on top of baseline.
import type { Container, PodSpec } from '../../../api/generated/types/core-v1.ts';
import { procMount } from './baseline-checks.ts';
import {
  type Check,
  containersOf,
  containersText,
  containersThat,
  contextsOf,
  type JudgedPod,
  type PodSecurityCheck,
  plural,
  quoted,
  setters,
  sorted,
  unlessUserNamespace,
  unlessWindows,
  type Violation,
} from './pod-visitor.ts';

const allowedVolumes: readonly string[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const allowPrivilegeEscalation = ({ spec }: JudgedPod): Violation | undefined =>
  containersThat(
    spec,
    (c) => c.securityContext?.allowPrivilegeEscalation !== false,
    'allowPrivilegeEscalation != false',
    'must set securityContext.allowPrivilegeEscalation=false',
  );

const namesOf = (list: readonly Container[]): string[] => list.map((c) => c.name);

function capabilities({ spec }: JudgedPod): Violation | undefined {
  const all = containersOf(spec);
  const keeping = all.filter((c) => !(c.securityContext?.capabilities?.drop ?? []).includes('ALL'));
  const added = (c: Container): string[] =>
    (c.securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = all.filter((c) => added(c).length > 0);
  const details = [
    keeping.length === 0
      ? ''
      : `${containersText(namesOf(keeping))} must set securityContext.capabilities.drop=["ALL"]`,
    adding.length === 0
      ? ''
      : `${containersText(namesOf(adding))} must not include ${quoted(sorted(adding.flatMap(added)))} in securityContext.capabilities.add`,
  ].filter((text) => text !== '');
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

function volumes({ spec }: JudgedPod): Violation | undefined {
  const bad = (spec.volumes ?? []).flatMap((volume) => {
    const types = Object.keys(volume).filter((key) => key !== 'name');
    return types.some((type) => allowedVolumes.includes(type))
      ? []
      : [{ name: volume.name, type: types[0] ?? 'unknown' }];
  });
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((b) => b.type));
  const names = bad.map((b) => b.name);
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', bad.length)} ${quoted(names)} ${bad.length === 1 ? 'uses' : 'use'} ${plural('restricted volume type', types.length)} ${quoted(types)}`,
  };
}

function runAsNonRoot({ spec }: JudgedPod): Violation | undefined {
  const reason = 'runAsNonRoot != true';
  const who = setters(spec, (c) => c.runAsNonRoot === false);
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  if (spec.securityContext?.runAsNonRoot === true) return undefined;
  const silent = namesOf(containersOf(spec).filter((c) => c.securityContext?.runAsNonRoot === undefined));
  return silent.length === 0
    ? undefined
    : { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser({ spec }: JudgedPod): Violation | undefined {
  const who = setters(spec, (c) => c.runAsUser === 0);
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
}

const seccompTypes = (spec: PodSpec): string[] =>
  contextsOf(spec).flatMap((c) => (c.seccompProfile === undefined ? [] : [c.seccompProfile.type]));
const goodSeccomp = (type: string | undefined): boolean => type === 'RuntimeDefault' || type === 'Localhost';

function seccomp({ spec }: JudgedPod): Violation | undefined {
  const reason = 'seccompProfile';
  const who = setters(spec, (c) => c.seccompProfile !== undefined && !goodSeccomp(c.seccompProfile.type));
  const bad = sorted(seccompTypes(spec).filter((type) => !goodSeccomp(type)));
  if (who !== '')
    return { reason, detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(bad)}` };
  if (goodSeccomp(spec.securityContext?.seccompProfile?.type)) return undefined;
  const silent = namesOf(containersOf(spec).filter((c) => c.securityContext?.seccompProfile === undefined));
  return silent.length === 0
    ? undefined
    : {
        reason,
        detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      };
}

/** A rule that a later version no longer asks of some pods. */
const relaxed = (
  since: number,
  check: Check,
  [later, unless]: readonly [since: number, unless: (check: Check) => Check],
  overrides?: string,
): PodSecurityCheck['versions'] =>
  [
    { since, check },
    { since: later, check: unless(check) },
  ].map((version) => (overrides === undefined ? version : { ...version, overrides }));

const notOfWindows = [25, unlessWindows] as const;
const notOfOwnUsers = [35, unlessUserNamespace] as const;

export const restrictedChecks: readonly PodSecurityCheck[] = [
  { id: 'allowPrivilegeEscalation', versions: relaxed(8, allowPrivilegeEscalation, notOfWindows) },
  {
    id: 'capabilities_restricted',
    versions: relaxed(22, capabilities, notOfWindows, 'capabilities_baseline'),
  },
  { id: 'procMount_restricted', versions: [{ since: 35, check: procMount, overrides: 'procMount' }] },
  { id: 'restrictedVolumes', versions: [{ since: 0, check: volumes, overrides: 'hostPathVolumes' }] },
  { id: 'runAsNonRoot', versions: relaxed(0, runAsNonRoot, notOfOwnUsers) },
  { id: 'runAsUser', versions: relaxed(23, runAsUser, notOfOwnUsers) },
  {
    id: 'seccompProfile_restricted',
    versions: relaxed(19, seccomp, notOfWindows, 'seccompProfile_baseline'),
  },
];
