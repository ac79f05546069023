// Pod Security, level restricted: what hardening asks for, on top of baseline.
import type { Container, PodSpec } from '../../../api/generated/types/core-v1.ts';
import {
  containersOf,
  containersText,
  containersThat,
  isWindows,
  type PodSecurityCheck,
  quoted,
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

function capabilities(spec: PodSpec): Violation | undefined {
  if (isWindows(spec)) return undefined;
  const all = containersOf(spec);
  const keeping = all.filter((c) => !(c.securityContext?.capabilities?.drop ?? []).includes('ALL'));
  const added = (c: Container): string[] =>
    (c.securityContext?.capabilities?.add ?? []).filter((name) => name !== 'NET_BIND_SERVICE');
  const adding = all.filter((c) => added(c).length > 0);
  const details = [
    keeping.length === 0
      ? ''
      : `${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`,
    adding.length === 0
      ? ''
      : `${containersText(adding)} must not include ${quoted([...new Set(adding.flatMap(added))].sort())} in securityContext.capabilities.add`,
  ].filter((text) => text !== '');
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

function volumes(spec: PodSpec): Violation | undefined {
  const bad = (spec.volumes ?? []).flatMap((volume) => {
    const type = Object.keys(volume).find((key) => key !== 'name');
    return type === undefined || allowedVolumes.includes(type) ? [] : [{ name: volume.name, type }];
  });
  if (bad.length === 0) return undefined;
  const types = [...new Set(bad.map((b) => b.type))].sort();
  const [s, uses] = bad.length === 1 ? ['', 'uses'] : ['s', 'use'];
  return {
    reason: 'restricted volume types',
    detail: `volume${s} ${quoted(bad.map((b) => b.name))} ${uses} restricted volume type${types.length === 1 ? '' : 's'} ${quoted(types)}`,
  };
}

function runAsNonRoot(spec: PodSpec): Violation | undefined {
  const ofPod = spec.securityContext?.runAsNonRoot;
  const all = containersOf(spec);
  const refusing = all.filter((c) => c.securityContext?.runAsNonRoot === false);
  const silent = ofPod === true ? [] : all.filter((c) => c.securityContext?.runAsNonRoot === undefined);
  const denied = [ofPod === false ? 'pod' : '', refusing.length === 0 ? '' : containersText(refusing)].filter(
    (text) => text !== '',
  );
  // A pod that says no is overruled when each of its containers says yes.
  if (refusing.length > 0 || (ofPod === false && silent.length > 0)) {
    return {
      reason: 'runAsNonRoot != true',
      detail: `${denied.join(' and ')} must not set securityContext.runAsNonRoot=false`,
    };
  }
  return silent.length === 0
    ? undefined
    : {
        reason: 'runAsNonRoot != true',
        detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true`,
      };
}

function runAsUser(spec: PodSpec): Violation | undefined {
  if (isWindows(spec)) return undefined;
  const list = containersOf(spec).filter((c) => c.securityContext?.runAsUser === 0);
  const who = [
    spec.securityContext?.runAsUser === 0 ? 'pod' : '',
    list.length > 0 ? containersText(list) : '',
  ].filter((text) => text !== '');
  return who.length === 0
    ? undefined
    : { reason: 'runAsUser=0', detail: `${who.join(' and ')} must not set runAsUser=0` };
}

function seccomp(spec: PodSpec): Violation | undefined {
  if (isWindows(spec)) return undefined;
  const good = (type: string | undefined): boolean => type === 'RuntimeDefault' || type === 'Localhost';
  const ofPod = spec.securityContext?.seccompProfile?.type;
  const all = containersOf(spec);
  const typeOf = (c: Container): string | undefined => c.securityContext?.seccompProfile?.type;
  const wrong = all.filter((c) => typeOf(c) !== undefined && !good(typeOf(c)));
  const silent = good(ofPod) ? [] : all.filter((c) => typeOf(c) === undefined);
  if (wrong.length > 0 || (ofPod !== undefined && !good(ofPod) && silent.length > 0)) {
    const who = [
      ofPod !== undefined && !good(ofPod) ? 'pod' : '',
      wrong.length > 0 ? containersText(wrong) : '',
    ].filter((text) => text !== '');
    return {
      reason: 'seccompProfile',
      detail: `${who.join(' and ')} must not set securityContext.seccompProfile.type to "Unconfined"`,
    };
  }
  return silent.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      };
}

export const restrictedChecks: readonly PodSecurityCheck[] = [
  {
    level: 'restricted',
    id: 'allowPrivilegeEscalation',
    check: (spec) =>
      isWindows(spec)
        ? undefined
        : containersThat(
            spec,
            (c) => c.securityContext?.allowPrivilegeEscalation !== false,
            'allowPrivilegeEscalation != false',
            'must set securityContext.allowPrivilegeEscalation=false',
          ),
  },
  { level: 'restricted', id: 'capabilities', check: capabilities },
  { level: 'restricted', id: 'restrictedVolumes', check: volumes },
  { level: 'restricted', id: 'runAsNonRoot', check: runAsNonRoot },
  { level: 'restricted', id: 'runAsUser', check: runAsUser },
  { level: 'restricted', id: 'seccompProfile', check: seccomp },
];
