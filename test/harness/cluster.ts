// A whole cluster for an e2e test, made as a user makes it: by the launcher's `up`, in the test's box, in a scratch folder.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';
import { scratchDirectory } from './scratch.ts';

export interface TestCluster {
  readonly name: string;
  readonly home: string;
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  readonly oldKubectl: Kubectl;
  /** Runs `bin/porthole` with the cluster's home. */
  porthole(
    args: readonly string[],
    options?: { readonly timeoutMs?: number },
  ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
  /** The folder of this machine that is drive C: of an emulated Windows node. */
  hostDrive(node: string): string;
  /** SIGKILL to one process (`server`, `agent linux-1`), then `up` again, which starts what is not running. */
  crashAndRepair(role: string): Promise<void>;
  /** `up` again. */
  up(): Promise<void>;
  /** `down`, and its own home is removed unless it is kept for another `up`. */
  down(options?: { readonly keepHome?: boolean }): Promise<void>;
}

export interface TestClusterOptions {
  readonly name?: string;
  /** Where other clusters of the test are, too. Default: a folder of its own, removed at the end. */
  readonly home?: string;
  readonly linux?: number;
  readonly windows?: number;
  readonly windowsBuild?: number;
  readonly windowsTaint?: boolean;
  readonly runtime?: 'containerd' | 'simulated';
  readonly bindAddress?: string;
  readonly registryConfig?: string;
  /** More of `up`. */
  readonly arguments?: readonly string[];
  /** As `--node-monitor-grace-period`. */
  readonly nodeMonitorGracePeriod?: string;
}

const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));

export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const scratch =
    options.home === undefined ? scratchDirectory('e2e') : { path: options.home, remove: () => undefined };
  const name = options.name ?? 'e2e';
  const env = { PORTHOLE_HOME: scratch.path, PORTHOLE_CACHE: portholeCache() };
  const porthole: TestCluster['porthole'] = async (args, runOptions = {}) => {
    const result = await linuxProcesses.run(launcher, args, {
      env,
      timeoutMs: runOptions.timeoutMs ?? 120_000,
    });
    return { code: result.code, stdout: result.stdout.toString(), stderr: result.stderr.toString() };
  };
  const must = async (args: readonly string[], timeoutMs: number): Promise<void> => {
    const { code, stdout, stderr } = await porthole(args, { timeoutMs });
    if (code !== 0) throw new Error(`porthole ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
  };
  const up = [
    'up',
    '--name',
    name,
    '--linux',
    String(options.linux ?? 1),
    '--windows',
    String(options.windows ?? 0),
    '--windows-build',
    String(options.windowsBuild ?? 20348),
    ...(options.windowsTaint === true ? ['--windows-taint'] : []),
    '--runtime',
    options.runtime ?? 'containerd',
    ...(options.nodeMonitorGracePeriod === undefined
      ? []
      : ['--node-monitor-grace-period', options.nodeMonitorGracePeriod]),
    ...(options.bindAddress === undefined ? [] : ['--bind-address', options.bindAddress]),
    ...(options.registryConfig === undefined ? [] : ['--registry-config', options.registryConfig]),
    ...(options.arguments ?? []),
  ];
  try {
    await must(up, 600_000);
  } catch (error) {
    await porthole(['down', '--name', name]).catch(() => undefined);
    scratch.remove();
    throw error;
  }
  const kubeconfig = join(scratch.path, 'clusters', name, 'kubeconfig');
  return {
    name,
    home: scratch.path,
    kubeconfig,
    kubectl: await kubectlFor(kubeconfig),
    oldKubectl: await kubectlFor(kubeconfig, '1.20'),
    porthole,
    hostDrive: (node) => nodeLayout(clusterPaths(scratch.path, name).node(node)).hostDrive,
    crashAndRepair: async (role) => {
      const state = readClusterState(clusterPaths(scratch.path, name));
      const record = state?.processes.find((process) => process.role === role);
      if (!record) throw new Error(`no process ${role} in ${JSON.stringify(state?.processes)}`);
      process.kill(record.pid, 'SIGKILL');
      await must(up, 120_000);
    },
    up: () => must(up, 300_000),
    down: async ({ keepHome = false } = {}) => {
      await must(['down', '--name', name], 120_000);
      if (!keepHome) scratch.remove();
    },
  };
}
