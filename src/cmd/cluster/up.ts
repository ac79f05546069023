// porthole up: from nothing, or from what a crash left, to a cluster whose nodes are all Ready.
import { statSync } from 'node:fs';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { checkBindAddress, everyMachineAddress } from '../compose/listen-addresses.ts';
import type { Progress } from '../progress.ts';
import { isInstalled, linuxNodePackages, missingPackages } from '../setup/system-packages.ts';
import { bringUp, type Settings, type Wanted } from './bring-up.ts';
import { chooseRuntime } from './choose-runtime.ts';
import { differenceOf } from './cluster-difference.ts';
import { clusterId } from './cluster-id.ts';
import { withClusterLock } from './cluster-lock.ts';
import type { PlannedNode } from './cluster-plan.ts';
import { type ClusterState, clusterPaths, type RuntimeKind, readClusterState } from './cluster-state.ts';
import { mergeExtraFlags, saySame } from './extra-config.ts';
import { interruptedUp, sayWhenInterrupted } from './interrupted.ts';
import { foreseenGateway } from './place-cluster.ts';
import { checkMergeable, mergeCluster } from './user-kubeconfig.ts';
import { runningProcesses } from './what-runs.ts';

export interface UpOptions extends Settings {
  readonly nodes: readonly PlannedNode[];
  /** Nobody asked for them: a cluster that is there goes on with its own. */
  readonly anyNodes?: boolean;
  readonly runtime: 'auto' | RuntimeKind;
  /** A kubeconfig that gets the cluster's context, and chooses it. Undefined: none. */
  readonly mergeInto?: string | undefined;
}

export interface UpResult {
  /** URL of the API server. */
  readonly server: string;
  readonly kubeconfig: string;
  readonly state: ClusterState;
  /** Of `mergeInto`. */
  readonly context?: string;
}

function decideRuntime(options: UpOptions, progress: Progress): RuntimeKind {
  const choice = chooseRuntime(options.runtime, {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    hasApt: isInstalled('apt-get'),
    missing: missingPackages(linuxNodePackages),
  });
  if ('error' in choice) throw new Error(choice.error);
  progress.say(`  runtime: ${choice.runtime} (${choice.why})`);
  return choice.runtime;
}

function checkSame(state: ClusterState, options: UpOptions): void {
  if (state.earlier)
    throw new Error(
      `cluster ${JSON.stringify(state.name)} was made by an earlier version of Porthole and can't go on with this one; take it down first: porthole down --name ${state.name}`,
    );
  const nodes = options.anyNodes ? state.nodes : options.nodes;
  const difference = differenceOf(state, { ...options, nodes });
  if (difference === undefined) return;
  throw new Error(
    `cluster ${JSON.stringify(state.name)} is there already, ${difference}; porthole up --name ${state.name} goes on with it as it is, and porthole down --name ${state.name} deletes it with all that it has stored`,
  );
}

/** It may be filled later; one that is not there is misspelt. */
function checkRegistryConfig(dir: string | undefined): void {
  if (dir === undefined) return;
  if (dir.includes(':'))
    throw new Error(`--registry-config ${dir}: containerd takes no folder with a colon in its path`);
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new Error(
    `--registry-config ${dir} is no folder: it holds one folder for each registry, such as ${dir}/registry.example:5000 with a ca.crt or a hosts.toml`,
  );
}

/** Throws what server or agents would say of them: they are asked before anything is made. */
async function checkedExtraConfig(
  { settings: { extraConfig, home, name }, known, nodes, runtime }: Wanted,
  progress: Progress,
): Promise<UpOptions['extraConfig']> {
  // After a reboot nothing runs of a cluster that nobody took down.
  const isNew =
    known === undefined ||
    known.kept === true ||
    (await runningProcesses(linuxFiles, clusterPaths(home, name), known)).length === 0;
  // It is much to read, and seldom needed.
  if (extraConfig === undefined && (!isNew || known?.extraConfig === undefined)) return undefined;
  const { checkExtraConfig, resolvedExtraConfig } = await import('../check-extra-config.ts');
  const asked = extraConfig && resolvedExtraConfig(extraConfig, process.cwd());
  const flags = mergeExtraFlags(known?.extraConfig, asked);
  if (!isNew && saySame(flags, known?.extraConfig)) return asked;
  await checkExtraConfig(flags ?? [], async () => {
    // Before the first cluster of a machine there may be nothing that tells its addresses.
    if (runtime !== 'containerd' || !isInstalled('ip')) return undefined;
    const id = known?.id ?? clusterId(home, name);
    return foreseenGateway({ nodes, state: { id, clusterCidr: known?.clusterCidr } });
  });
  if (!isNew)
    progress.say(
      `  --extra-config counts from the next start on: porthole down --name ${name} --keep, then porthole up --name ${name}`,
    );
  return asked;
}

/** Starts what is not running; a cluster that is up already is left as it is. Waits for another `up` or `down` of it. */
export async function up(options: UpOptions, progress: Progress): Promise<UpResult> {
  if (options.nodes.length === 0)
    throw new Error('a cluster needs a node: --linux or --windows of at least 1');
  if (options.bindAddress !== undefined) checkBindAddress(options.bindAddress, everyMachineAddress());
  checkRegistryConfig(options.registryConfig);
  const { home, mergeInto, name } = options;
  const textNow = (): string => interruptedUp(name, clusterPaths(home, name));
  return sayWhenInterrupted(progress.say, textNow, () =>
    withClusterLock(linuxProcesses, options, progress, async () => {
      if (mergeInto !== undefined) await checkMergeable({ name }, mergeInto);
      const result = await upAlone(options, progress);
      if (mergeInto === undefined) return result;
      return { ...result, context: await mergeCluster(result.state, home, mergeInto) };
    }),
  );
}

async function upAlone(options: UpOptions, progress: Progress): Promise<UpResult> {
  const paths = clusterPaths(options.home, options.name);
  const ending = readClusterState(paths)?.ending;
  if (ending !== undefined) {
    // What ends containers is much to read, and seldom needed here.
    const { downAlone } = await import('./down.ts');
    await downAlone(paths, progress, { keep: ending === 'keep' });
  }
  const known = readClusterState(paths);
  if (known) checkSame(known, options);
  const runtime = known?.runtime ?? decideRuntime(options, progress);
  if (runtime === 'simulated' && options.registry !== undefined)
    throw new Error('nodes of the simulated runtime pull nothing: --registry is for real ones');
  const nodes = known?.nodes ?? options.nodes;
  const wanted = { settings: options, known, runtime, nodes };
  const extraConfig = await checkedExtraConfig(wanted, progress);
  const state = await bringUp({ ...wanted, settings: { ...options, extraConfig } }, progress);
  return { server: state.server, kubeconfig: paths.kubeconfig, state };
}
