// A containerd of our own: started detached so that it outlives the agent, adopted when it already runs, stopped and swept.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Host } from '../../os/host.ts';
import { runOrThrow } from '../../os/processes.ts';
import { createGrpcClient } from '../../wire/grpc-client.ts';
import { type ContainerdOptions, containerdConfig } from './containerd-config.ts';
import { childrenOfAll, processesWithArgument, type RunningProcess, startTimeOf } from './process-table.ts';

export interface ContainerdPaths {
  /** Holds config.toml, containerd.pid and containerd.log. */
  readonly dir: string;
}

export interface ContainerdDeps {
  readonly host: Pick<Host, 'files' | 'processes' | 'mounts' | 'cgroups' | 'beneath'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface EnsureContainerdOptions extends ContainerdOptions, ContainerdPaths {
  /** Default `containerd`, looked up in PATH. */
  readonly containerdBinary?: string;
  /** Default 30,000. */
  readonly startTimeoutMs?: number;
}

export interface RunningContainerd {
  readonly pid: number;
  readonly adopted: boolean;
  readonly version: string;
}

const pidFile = (paths: ContainerdPaths): string => `${paths.dir}/containerd.pid`;
const configFileOf = (paths: ContainerdPaths): string => `${paths.dir}/config.toml`;

/** The pid file holds pid and start time, so that a reused pid is never mistaken for containerd. */
export async function runningPid(deps: ContainerdDeps, paths: ContainerdPaths): Promise<number | undefined> {
  const text = (await deps.host.files.readIfThere(pidFile(paths)))?.toString() ?? '';
  const [pid, startTime] = text.trim().split(' ');
  if (!pid || !startTime || !/^\d+$/.test(pid)) return undefined;
  return (await startTimeOf(deps.host.files, Number(pid))) === startTime ? Number(pid) : undefined;
}

/** A client that finds no socket waits for as long as containerd takes to start, and more. */
const lookEveryMs = 5;

async function waitForSocket(
  { clock, host }: ContainerdDeps,
  address: string,
  timeoutMs: number,
): Promise<void> {
  const until = clock.monotonic() + timeoutMs;
  while ((await host.files.stat(address)) === undefined && clock.monotonic() < until)
    await clock.sleep(lookEveryMs);
  const client = createGrpcClient(clock, `unix://${address}`);
  try {
    await client.ready(Math.max(lookEveryMs, until - clock.monotonic()));
  } finally {
    client.close();
  }
}

async function versionOf(deps: ContainerdDeps, binary: string): Promise<string> {
  const text = await runOrThrow(deps.host.processes, binary, ['--version']);
  return /\s(v?\d+\.\d+\.\d+\S*)/.exec(text)?.[1] ?? text.trim();
}

/** Starts containerd, or adopts the one that runs with these paths. Returns when its socket answers. */
export async function ensureContainerd(
  deps: ContainerdDeps,
  options: EnsureContainerdOptions,
): Promise<RunningContainerd> {
  const { files, processes } = deps.host;
  const binary = options.containerdBinary ?? 'containerd';
  const version = await versionOf(deps, binary);
  const timeoutMs = options.startTimeoutMs ?? 30_000;
  await files.makeDirectory(options.dir, 0o700);
  const config = containerdConfig(options, version);
  const configFile = configFileOf(options);
  const running = await runningPid(deps, options);
  const unchanged = (await files.readIfThere(configFile))?.toString() === config;
  if (running !== undefined && unchanged) {
    const answers = await waitForSocket(deps, options.address, timeoutMs).then(
      () => true,
      () => false,
    );
    if (answers) return { pid: running, adopted: true, version };
    deps.log.warn({ pid: running }, 'containerd runs and does not answer; killing it and starting it again');
    await killContainerd(deps, options);
  }
  // A changed configuration needs a new process; the containers live on under their shims.
  await stopContainerd(deps, options);
  await files.write(configFile, config, { mode: 0o600 });
  await files.makeDirectory(options.cniConfDir, 0o755);
  await files.remove(options.address);
  const logFile = `${options.dir}/containerd.log`;
  const child = processes.spawn(binary, ['--config', configFile], { detached: { logFile } });
  const died = child.exited.then(async (code) => {
    const said = (await files.readIfThere(logFile))?.toString().slice(-2000) ?? '';
    throw new Error(`containerd ended with exit code ${code} before it was ready: ${said}`);
  });
  died.catch(() => undefined); // after it is ready its end is noticed by failing calls
  await Promise.race([waitForSocket(deps, options.address, timeoutMs), died]);
  const startTime = await startTimeOf(files, child.pid);
  await files.write(pidFile(options), `${child.pid} ${startTime}\n`, { mode: 0o600 });
  deps.log.info({ pid: child.pid, version, address: options.address }, 'started containerd');
  return { pid: child.pid, adopted: false, version };
}

async function kill(deps: ContainerdDeps, pids: readonly number[], signal: 'TERM' | 'KILL'): Promise<void> {
  await deps.host.processes.run('kill', [`-${signal}`, '--', ...pids.map(String)]); // gone already is fine
}

async function waitGone(deps: ContainerdDeps, pid: number, startTime: string, ms: number): Promise<boolean> {
  const until = deps.clock.monotonic() + ms;
  while ((await startTimeOf(deps.host.files, pid)) === startTime) {
    if (deps.clock.monotonic() > until) return false;
    await deps.clock.sleep(20);
  }
  return true;
}

async function end(deps: ContainerdDeps, pid: number): Promise<void> {
  const startTime = await startTimeOf(deps.host.files, pid);
  if (startTime === undefined) return;
  await kill(deps, [pid], 'TERM');
  if (await waitGone(deps, pid, startTime, 5000)) return;
  await kill(deps, [pid], 'KILL');
  await waitGone(deps, pid, startTime, 5000);
}

/** Ends the daemon, also one whose agent was killed before it wrote the pid down; containers live on under their shims. */
async function stopContainerd(deps: ContainerdDeps, paths: ContainerdPaths): Promise<void> {
  const recorded = await runningPid(deps, paths);
  const named = await processesWithArgument(deps.host.files, configFileOf(paths));
  const daemons = named.filter(({ args }) => args.includes('--config'));
  const pids = new Set([...daemons.map(({ pid }) => pid), ...(recorded === undefined ? [] : [recorded])]);
  await Promise.all([...pids].map((pid) => end(deps, pid)));
  await deps.host.files.remove(pidFile(paths));
}

/** At once, whatever it does; containers live on under their shims. */
export async function killContainerd(deps: ContainerdDeps, paths: ContainerdPaths): Promise<void> {
  const pid = await runningPid(deps, paths);
  if (pid === undefined) return;
  const startTime = await startTimeOf(deps.host.files, pid);
  await kill(deps, [pid], 'KILL');
  if (startTime !== undefined) await waitGone(deps, pid, startTime, 5000);
}

/** As one program's arguments: a pod has thousands of processes. */
const killedAtOnce = 1000;

/** With all that comes from it, as it was when `children` were read. */
export async function killTree(
  deps: ContainerdDeps,
  children: ReadonlyMap<number, readonly number[]>,
  pid: number,
): Promise<void> {
  const doomed = new Set([pid]);
  for (const one of doomed) for (const child of children.get(one) ?? []) doomed.add(child);
  const all = [...doomed];
  for (let i = 0; i < all.length; i += killedAtOnce) await kill(deps, all.slice(i, i + killedAtOnce), 'KILL');
}

/** Of what runs by CRI: a folder for each container and sandbox, of its id. */
export const bundlesOf = (state: string): string => `${state}/io.containerd.runtime.v2.task/k8s.io`;

/** Sockets of shims lie in a folder that all containerds of a machine share; each bundle names its own. */
export async function shimSocketOf({ host }: ContainerdDeps, bundle: string): Promise<string | undefined> {
  const address = (await host.files.readIfThere(`${bundle}/address`))?.toString().trim() ?? '';
  return /^unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)$/.exec(address)?.[1];
}

interface Running {
  readonly pid: number;
  readonly startTime: string;
}

/** Of a pod: a shim's children but its first, which is the sandbox. */
async function programsOf({ host }: ContainerdDeps, ofShim: readonly number[]): Promise<Running[]> {
  const found = await Promise.all(
    ofShim.map(async (pid) => ({ pid, startTime: await startTimeOf(host.files, pid) })),
  );
  return found
    .filter((one): one is Running => one.startTime !== undefined)
    .sort((a, b) => Number(a.startTime) - Number(b.startTime))
    .slice(1);
}

/**
 * As a node that is shut down does it: what runs below the shims may finish its work. Sandboxes are not told, for the
 * kernel kills at once whoever shares the process namespace of one that ends.
 */
async function letEnd(
  deps: ContainerdDeps,
  shims: readonly RunningProcess[],
  children: ReadonlyMap<number, readonly number[]>,
  graceMs: number,
): Promise<void> {
  const programs = await Promise.all(shims.map(({ pid }) => programsOf(deps, children.get(pid) ?? [])));
  const running = programs.flat();
  if (running.length > 0)
    await kill(
      deps,
      running.map(({ pid }) => pid),
      'TERM',
    );
  const until = deps.clock.monotonic() + graceMs;
  for (const { pid, startTime } of running)
    await waitGone(deps, pid, startTime, Math.max(0, until - deps.clock.monotonic()));
}

/**
 * Takes everything of this containerd away: daemon, shims, containers, mounts, namespaces, state.
 * Images stay unless `images` is true; `cgroupRoot`, the node's own, is removed too. Programs are killed, or told to end and killed
 * after `graceMs`. Also works when the daemon is dead.
 */
export async function removeContainerd(
  deps: ContainerdDeps,
  options: Pick<ContainerdOptions, 'root' | 'state' | 'address'> &
    ContainerdPaths & {
      readonly images?: boolean;
      readonly cgroupRoot?: string;
      readonly graceMs?: number;
    },
): Promise<void> {
  await stopContainerd(deps, options);
  // A client that its killed caller left behind waits for its daemon for ever.
  const ours = (await processesWithArgument(deps.host.files, options.address)).filter(({ args }) =>
    /containerd-shim|(^|\/)ctr$/.test(args[0] ?? ''),
  );
  if (options.graceMs !== undefined)
    await letEnd(deps, ours, await childrenOfAll(deps.host.files), options.graceMs);
  const children = await childrenOfAll(deps.host.files);
  for (const { pid } of ours) await killTree(deps, children, pid);
  const bundles = bundlesOf(options.state);
  for (const id of await deps.host.files.list(bundles)) {
    const socket = await shimSocketOf(deps, `${bundles}/${id}`);
    if (socket !== undefined) await deps.host.files.remove(socket);
  }
  await deps.host.mounts.unmountAllBelow(options.state);
  await deps.host.mounts.unmountAllBelow(options.root);
  // Containers may have left trees that are deeper than a path can say.
  const removeTree = deps.host.beneath?.remove ?? deps.host.files.remove;
  await removeTree(options.state);
  await deps.host.files.remove(options.address);
  await deps.host.files.remove(`${options.address}.ttrpc`);
  if (options.cgroupRoot) await deps.host.cgroups?.remove(options.cgroupRoot);
  if (options.images) await removeTree(options.root);
}
