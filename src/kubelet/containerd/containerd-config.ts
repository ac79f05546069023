// The configuration of a containerd of our own, as text: for 1.6/1.7 (version 2) and for 2.x (version 3).
import { maxGrpcMessageBytes } from '../../wire/grpc-client.ts';

export interface ContainerdOptions {
  /** Images and snapshots; kept over restarts. */
  readonly root: string;
  /** Running state: bundles, network namespaces. */
  readonly state: string;
  /** Path of the socket. */
  readonly address: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  readonly sandboxImage: string;
  /** Default `runc`, looked up in PATH. */
  readonly runcBinary?: string;
  /** BinaryName of the handlers there are beside runc, by name. */
  readonly runtimeHandlers?: Readonly<Record<string, string>> | undefined;
  /** Folder of `<registry>/hosts.toml` files. */
  readonly registryConfigDir?: string;
  /** True where the process may lower oom scores (CAP_SYS_RESOURCE). Default false. */
  readonly mayLowerOomScore?: boolean;
}

/** TOML's basic strings take JSON's escapes. */
const q = (text: string): string => JSON.stringify(text);

/** Of the folders that a container's image declares, one each; nobody else counts what lies there. */
export const imageVolumesDir = (root: string, containerId: string): string =>
  `${root}/io.containerd.grpc.v1.cri/containers/${containerId}/volumes`;

/** What a node without block devices, tracing and other runtimes never needs; each costs start time. */
const disabled = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.internal.v1.opt',
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
  'io.containerd.nri.v1.nri',
];

function runtimeTables(plugin: string, options: ContainerdOptions): string[] {
  const handlers = { runc: options.runcBinary ?? 'runc', ...options.runtimeHandlers };
  return Object.entries(handlers).flatMap(([name, binary]) => [
    `[plugins.${q(plugin)}.containerd.runtimes.${q(name)}]`,
    '  runtime_type = "io.containerd.runc.v2"',
    // The kubelet's own word to the handler. A pod's annotations are its user's: the handler must never see them.
    '  container_annotations = ["porthole.dev/*"]',
    `[plugins.${q(plugin)}.containerd.runtimes.${q(name)}.options]`,
    `  BinaryName = ${q(binary)}`,
    `  Root = ${q(`${options.state}/runc`)}`,
    '  SystemdCgroup = false',
  ]);
}

const cniTable = (plugin: string, options: ContainerdOptions): string[] => [
  `[plugins.${q(plugin)}.cni]`,
  `  bin_dir = ${q(options.cniBinDir)}`,
  `  conf_dir = ${q(options.cniConfDir)}`,
  '  max_conf_num = 1',
];

const head = (version: 2 | 3, options: ContainerdOptions): string[] => [
  `version = ${version}`,
  `root = ${q(options.root)}`,
  `state = ${q(options.state)}`,
  'oom_score = 0',
  `disabled_plugins = [${disabled.map(q).join(', ')}]`,
  '[grpc]',
  `  address = ${q(options.address)}`,
  `  max_recv_message_size = ${maxGrpcMessageBytes}`,
  `  max_send_message_size = ${maxGrpcMessageBytes}`,
  '[ttrpc]',
  `  address = ${q(`${options.address}.ttrpc`)}`,
  '[debug]',
  '  address = ""',
  '  level = "warn"',
];

function version2(options: ContainerdOptions): string[] {
  const cri = 'io.containerd.grpc.v1.cri';
  return [
    ...head(2, options),
    `[plugins.${q(cri)}]`,
    `  sandbox_image = ${q(options.sandboxImage)}`,
    `  restrict_oom_score_adj = ${!(options.mayLowerOomScore ?? false)}`,
    '  netns_mounts_under_state_dir = true',
    '  disable_apparmor = true',
    '  stream_server_address = "127.0.0.1"',
    '  stream_server_port = "0"',
    '  enable_unprivileged_ports = true',
    '  enable_unprivileged_icmp = true',
    `[plugins.${q(cri)}.containerd]`,
    '  snapshotter = "overlayfs"',
    '  default_runtime_name = "runc"',
    ...runtimeTables(cri, options),
    ...cniTable(cri, options),
    ...(options.registryConfigDir === undefined
      ? []
      : [`[plugins.${q(cri)}.registry]`, `  config_path = ${q(options.registryConfigDir)}`]),
  ];
}

function version3(options: ContainerdOptions): string[] {
  const images = 'io.containerd.cri.v1.images';
  const runtime = 'io.containerd.cri.v1.runtime';
  return [
    ...head(3, options),
    '[plugins."io.containerd.grpc.v1.cri"]',
    '  stream_server_address = "127.0.0.1"',
    '  stream_server_port = "0"',
    `[plugins.${q(images)}]`,
    '  snapshotter = "overlayfs"',
    `[plugins.${q(images)}.pinned_images]`,
    `  sandbox = ${q(options.sandboxImage)}`,
    ...(options.registryConfigDir === undefined
      ? []
      : [`[plugins.${q(images)}.registry]`, `  config_path = ${q(options.registryConfigDir)}`]),
    `[plugins.${q(runtime)}]`,
    `  restrict_oom_score_adj = ${!(options.mayLowerOomScore ?? false)}`,
    '  netns_mounts_under_state_dir = true',
    '  disable_apparmor = true',
    '  enable_unprivileged_ports = true',
    '  enable_unprivileged_icmp = true',
    `[plugins.${q(runtime)}.containerd]`,
    '  default_runtime_name = "runc"',
    ...runtimeTables(runtime, options),
    ...cniTable(runtime, options),
  ];
}

/** `containerdVersion`: `1.6.20`, `v2.0.1` … */
export function containerdConfig(options: ContainerdOptions, containerdVersion: string): string {
  const major = Number(/(?<!\d)(\d+)\./.exec(containerdVersion)?.[1] ?? '1');
  return `${(major >= 2 ? version3(options) : version2(options)).join('\n')}\n`;
}
