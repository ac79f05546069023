// Pod Security, level baseline: known ways out of a container are closed.

import type { Container } from '../../../api/generated/types/core-v1.ts';
import { safeSysctls, safeSysctlVersions } from '../../../component-helpers/safe-sysctls.ts';
import {
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
  type Violation,
} from './pod-visitor.ts';

const defaultCapabilities: readonly string[] = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

const seLinuxAtFirst: readonly string[] = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
const seLinux31 = [...seLinuxAtFirst, 'container_engine_t'];

const seccompOfPod = 'seccomp.security.alpha.kubernetes.io/pod';
export const seccompOfContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmorOfContainer = 'container.apparmor.security.beta.kubernetes.io/';

const bare = (reason: string, what: string, who: string): Violation | undefined =>
  who === '' ? undefined : { reason, detail: `${who} ${what}` };

function appArmor({ annotations, spec }: JudgedPod): Violation | undefined {
  const bad = (type: string | undefined): boolean =>
    type !== undefined && type !== 'RuntimeDefault' && type !== 'Localhost';
  const types = contextsOf(spec)
    .map((c) => c.appArmorProfile?.type)
    .filter(bad);
  const said = Object.entries(annotations)
    .filter(
      ([key, profile]) =>
        key.startsWith(appArmorOfContainer) &&
        !(profile === '' || profile === 'runtime/default' || profile.startsWith('localhost/')),
    )
    .map(([key, profile]) => `${key}=${JSON.stringify(profile)}`)
    .sort();
  const values = [...sorted(types as string[]), ...said];
  if (values.length === 0) return undefined;
  const who = [
    setters(spec, (c) => bad(c.appArmorProfile?.type)),
    said.length === 0 ? '' : plural('annotation', said.length),
  ].filter((text) => text !== '');
  return {
    reason: plural('forbidden AppArmor profile', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

function capabilities({ spec }: JudgedPod): Violation | undefined {
  const extra = (c: Container): string[] =>
    (c.securityContext?.capabilities?.add ?? []).filter((name) => !defaultCapabilities.includes(name));
  const names = sorted(containersOf(spec).flatMap(extra));
  return containersThat(
    spec,
    (c) => extra(c).length > 0,
    'non-default capabilities',
    `must not include ${quoted(names)} in securityContext.capabilities.add`,
  );
}

function hostNamespaces({ spec }: JudgedPod): Violation | undefined {
  const set = [
    spec.hostNetwork ? 'hostNetwork=true' : '',
    spec.hostPID ? 'hostPID=true' : '',
    spec.hostIPC ? 'hostIPC=true' : '',
  ].filter((text) => text !== '');
  return set.length === 0 ? undefined : { reason: 'host namespaces', detail: set.join(', ') };
}

function hostPaths({ spec }: JudgedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter((v) => v.hostPath !== undefined).map((v) => v.name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${plural('volume', names.length)} ${quoted(names)}` };
}

function hostPorts({ spec }: JudgedPod): Violation | undefined {
  const used = (c: Container): string[] =>
    (c.ports ?? []).map((port) => port.hostPort ?? 0).flatMap((port) => (port === 0 ? [] : [String(port)]));
  const bad = containersOf(spec).filter((c) => used(c).length > 0);
  const ports = sorted(bad.flatMap(used));
  const uses = bad.length === 1 ? 'uses' : 'use';
  return containersThat(
    spec,
    (c) => used(c).length > 0,
    'hostPort',
    `${uses} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  );
}

/** A probe of another host makes the kubelet ask for the pod what the pod may not reach. */
function hostsOfProbes({ spec }: JudgedPod): Violation | undefined {
  const hosts = (c: Container): string[] =>
    [c.livenessProbe, c.readinessProbe, c.startupProbe, c.lifecycle?.postStart, c.lifecycle?.preStop]
      .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
      .filter((host): host is string => host !== undefined && host !== '');
  const bad = containersOf(spec).filter((c) => hosts(c).length > 0);
  if (bad.length === 0) return undefined;
  const names = sorted(bad.map((c) => c.name));
  const all = sorted(bad.flatMap(hosts));
  return {
    reason: 'probe or lifecycle host',
    detail: `${containersText(names)} ${names.length === 1 ? 'uses' : 'use'} ${plural('probe or lifecycle host', all.length)} ${quoted(all)}`,
  };
}

export function procMount({ spec }: JudgedPod): Violation | undefined {
  const of = (c: Container): string => c.securityContext?.procMount ?? 'Default';
  const types = sorted(containersOf(spec).map(of)).filter((type) => type !== 'Default');
  return containersThat(
    spec,
    (c) => of(c) !== 'Default',
    'procMount',
    `must not set securityContext.procMount to ${quoted(types)}`,
  );
}

const seLinux =
  (allowed: readonly string[]) =>
  ({ spec }: JudgedPod): Violation | undefined => {
    const options = contextsOf(spec).map((c) => c.seLinuxOptions ?? {});
    const types = sorted(options.map((o) => o.type ?? '').filter((type) => !allowed.includes(type)));
    const said = [
      types.length === 0 ? '' : `${plural('type', types.length)} ${quoted(types)}`,
      options.some((o) => (o.user ?? '') !== '') ? 'user may not be set' : '',
      options.some((o) => (o.role ?? '') !== '') ? 'role may not be set' : '',
    ].filter((text) => text !== '');
    const who = setters(
      spec,
      ({ seLinuxOptions: o }) =>
        o !== undefined &&
        (!allowed.includes(o.type ?? '') || (o.user ?? '') !== '' || (o.role ?? '') !== ''),
    );
    return bare('seLinuxOptions', `set forbidden securityContext.seLinuxOptions: ${said.join('; ')}`, who);
  };

function seccompAnnotations({ annotations, spec }: JudgedPod): Violation | undefined {
  const fine = (profile: string): boolean =>
    profile === 'runtime/default' || profile === 'docker/default' || profile.startsWith('localhost/');
  const bad = [seccompOfPod, ...containersOf(spec).map((c) => seccompOfContainer + c.name)].flatMap((key) => {
    const profile = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    return profile === undefined || fine(profile) ? [] : [`${key}=${JSON.stringify(profile)}`];
  });
  const said = sorted(bad);
  return said.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `forbidden ${plural('annotation', said.length)} ${said.join(', ')}`,
      };
}

function seccomp({ spec }: JudgedPod): Violation | undefined {
  const bad = (type: string | undefined): boolean =>
    type !== undefined && type !== 'RuntimeDefault' && type !== 'Localhost';
  const types = contextsOf(spec)
    .map((c) => c.seccompProfile?.type)
    .filter(bad);
  return bare(
    'seccompProfile',
    `must not set securityContext.seccompProfile.type to ${quoted(sorted(types as string[]))}`,
    setters(spec, (c) => bad(c.seccompProfile?.type)),
  );
}

const sysctls =
  (allowed: readonly string[]) =>
  ({ spec }: JudgedPod): Violation | undefined => {
    const bad = (spec.securityContext?.sysctls ?? [])
      .map((s) => s.name)
      .filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };

const privileged = ({ spec }: JudgedPod): Violation | undefined =>
  containersThat(
    spec,
    (c) => c.securityContext?.privileged === true,
    'privileged',
    'must not set securityContext.privileged=true',
  );

const hostProcess = ({ spec }: JudgedPod): Violation | undefined =>
  bare(
    'hostProcess',
    'must not set securityContext.windowsOptions.hostProcess=true',
    setters(spec, (c) => c.windowsOptions?.hostProcess === true),
  );

export const baselineChecks: readonly PodSecurityCheck[] = [
  { id: 'appArmorProfile', versions: [{ since: 0, check: appArmor }] },
  { id: 'capabilities_baseline', versions: [{ since: 0, check: capabilities }] },
  { id: 'hostNamespaces', versions: [{ since: 0, check: hostNamespaces }] },
  { id: 'hostPathVolumes', versions: [{ since: 0, check: hostPaths }] },
  { id: 'hostPorts', versions: [{ since: 0, check: hostPorts }] },
  { id: 'hostProbesAndHostLifecycle', versions: [{ since: 34, check: hostsOfProbes }] },
  { id: 'privileged', versions: [{ since: 0, check: privileged }] },
  {
    id: 'procMount',
    versions: [
      { since: 0, check: procMount },
      { since: 35, check: unlessUserNamespace(procMount) },
    ],
  },
  {
    id: 'seLinuxOptions',
    versions: [
      { since: 0, check: seLinux(seLinuxAtFirst) },
      { since: 31, check: seLinux(seLinux31) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    versions: [
      { since: 0, check: seccompAnnotations },
      { since: 19, check: seccomp },
    ],
  },
  {
    id: 'sysctls',
    versions: safeSysctlVersions.map((since) => ({ since, check: sysctls(safeSysctls(since)) })),
  },
  { id: 'windowsHostProcess', versions: [{ since: 0, check: hostProcess }] },
];
