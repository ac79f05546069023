// Pod Security, level baseline: known ways out of a container are closed.
import type { PodSpec, SecurityContext } from '../../../api/generated/types/core-v1.ts';
import {
  containersOf,
  containersText,
  containersThat,
  type PodSecurityCheck,
  quoted,
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
const safeSysctls: readonly string[] = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.ping_group_range',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.tcp_wmem',
];
const seLinuxTypes: readonly string[] = [
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
];

/** Where the pod or its containers set something bad: `pod and container "c"`. */
function setters(spec: PodSpec, bad: (context: Partial<SecurityContext>) => boolean): string {
  const inPod = bad((spec.securityContext ?? {}) as Partial<SecurityContext>);
  const list = containersOf(spec).filter((container) => bad(container.securityContext ?? {}));
  return [inPod ? 'pod' : '', list.length > 0 ? containersText(list) : '']
    .filter((t) => t !== '')
    .join(' and ');
}

const when = (who: string, reason: string, what: string): Violation | undefined =>
  who === '' ? undefined : { reason, detail: `${who} ${what}` };

function capabilities(spec: PodSpec): Violation | undefined {
  const extra = (list: readonly string[] | undefined): string[] =>
    (list ?? []).filter((name) => !defaultCapabilities.includes(name));
  const bad = containersOf(spec).filter((c) => extra(c.securityContext?.capabilities?.add).length > 0);
  if (bad.length === 0) return undefined;
  const names = [...new Set(bad.flatMap((c) => extra(c.securityContext?.capabilities?.add)))].sort();
  return {
    reason: 'non-default capabilities',
    detail: `${containersText(bad)} must not include ${quoted(names)} in securityContext.capabilities.add`,
  };
}

function hostNamespaces(spec: PodSpec): Violation | undefined {
  const set = [
    spec.hostNetwork ? 'hostNetwork=true' : '',
    spec.hostPID ? 'hostPID=true' : '',
    spec.hostIPC ? 'hostIPC=true' : '',
  ].filter((text) => text !== '');
  return set.length === 0 ? undefined : { reason: 'host namespaces', detail: set.join(', ') };
}

function hostPaths(spec: PodSpec): Violation | undefined {
  const names = (spec.volumes ?? []).filter((v) => v.hostPath !== undefined).map((v) => v.name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `volume${names.length === 1 ? '' : 's'} ${quoted(names)}` };
}

function hostPorts(spec: PodSpec): Violation | undefined {
  const used = (c: ReturnType<typeof containersOf>[number]): number[] =>
    (c.ports ?? []).map((port) => port.hostPort ?? 0).filter((port) => port > 0);
  const bad = containersOf(spec).filter((c) => used(c).length > 0);
  if (bad.length === 0) return undefined;
  const ports = [...new Set(bad.flatMap(used))].map(String).sort();
  return {
    reason: 'hostPort',
    detail: `${containersText(bad)} ${bad.length === 1 ? 'uses' : 'use'} hostPort${ports.length === 1 ? '' : 's'} ${ports.join(', ')}`,
  };
}

function seLinux(spec: PodSpec): Violation | undefined {
  const options = [spec.securityContext, ...containersOf(spec).map((c) => c.securityContext)].map(
    (context) => context?.seLinuxOptions ?? {},
  );
  const types = [
    ...new Set(options.map((o) => o.type ?? '').filter((t) => !seLinuxTypes.includes(t))),
  ].sort();
  const user = options.some((o) => (o.user ?? '') !== '');
  const role = options.some((o) => (o.role ?? '') !== '');
  const said = [
    types.length === 0 ? '' : `type${types.length === 1 ? '' : 's'} ${quoted(types)}`,
    user ? 'user may not be set' : '',
    role ? 'role may not be set' : '',
  ].filter((text) => text !== '');
  const who = setters(spec, ({ seLinuxOptions: o }) =>
    o === undefined
      ? false
      : !seLinuxTypes.includes(o.type ?? '') || (o.user ?? '') !== '' || (o.role ?? '') !== '',
  );
  return when(who, 'seLinuxOptions', `set forbidden securityContext.seLinuxOptions: ${said.join('; ')}`);
}

export const baselineChecks: readonly PodSecurityCheck[] = [
  {
    level: 'baseline',
    id: 'appArmorProfile',
    check: (spec) =>
      when(
        setters(spec, (c) => c.appArmorProfile?.type === 'Unconfined'),
        'forbidden AppArmor profile',
        'must not set AppArmor profile type to "Unconfined"',
      ),
  },
  { level: 'baseline', id: 'capabilities', check: capabilities },
  { level: 'baseline', id: 'hostNamespaces', check: hostNamespaces },
  { level: 'baseline', id: 'hostPathVolumes', check: hostPaths },
  { level: 'baseline', id: 'hostPorts', check: hostPorts },
  {
    level: 'baseline',
    id: 'privileged',
    check: (spec) =>
      containersThat(
        spec,
        (c) => c.securityContext?.privileged === true,
        'privileged',
        'must not set securityContext.privileged=true',
      ),
  },
  {
    level: 'baseline',
    id: 'procMount',
    check: (spec) =>
      containersThat(
        spec,
        (c) => (c.securityContext?.procMount ?? 'Default') !== 'Default',
        'procMount',
        'must not set securityContext.procMount to "Unmasked"',
      ),
  },
  { level: 'baseline', id: 'seLinuxOptions', check: seLinux },
  {
    level: 'baseline',
    id: 'seccompProfile',
    check: (spec) =>
      when(
        setters(spec, (c) => c.seccompProfile?.type === 'Unconfined'),
        'seccompProfile',
        'must not set securityContext.seccompProfile.type to "Unconfined"',
      ),
  },
  {
    level: 'baseline',
    id: 'sysctls',
    check: (spec) => {
      const bad = (spec.securityContext?.sysctls ?? [])
        .map((s) => s.name)
        .filter((name) => !safeSysctls.includes(name));
      return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
    },
  },
  {
    level: 'baseline',
    id: 'windowsHostProcess',
    check: (spec) =>
      when(
        setters(spec, (c) => c.windowsOptions?.hostProcess === true),
        'hostProcess',
        'must not set securityContext.windowsOptions.hostProcess=true',
      ),
  },
];
