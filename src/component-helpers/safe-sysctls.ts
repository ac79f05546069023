// Sysctls that touch a pod alone: what a node takes, and what the Pod Security Standards allow.

/** By the version of Kubernetes that knew of them first. */
const since: readonly (readonly [number, readonly string[]])[] = [
  [
    0,
    [
      'kernel.shm_rmid_forced',
      'net.ipv4.ip_local_port_range',
      'net.ipv4.ip_unprivileged_port_start',
      'net.ipv4.ping_group_range',
      'net.ipv4.tcp_syncookies',
    ],
  ],
  [27, ['net.ipv4.ip_local_reserved_ports']],
  [
    29,
    [
      'net.ipv4.tcp_fin_timeout',
      'net.ipv4.tcp_keepalive_intvl',
      'net.ipv4.tcp_keepalive_probes',
      'net.ipv4.tcp_keepalive_time',
    ],
  ],
  [32, ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']],
];

/** The versions that added some. */
export const safeSysctlVersions: readonly number[] = since.map(([version]) => version);

/** Those of a minor version; of today without one. */
export const safeSysctls = (minor: number = Number.POSITIVE_INFINITY): readonly string[] =>
  since.filter(([version]) => version <= minor).flatMap(([, names]) => names);
