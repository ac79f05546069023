// A cluster's supervisor from outside: given its work, started again when it is gone, ended.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import type { Processes } from '../../os/processes.ts';
import { endProcesses, isAlive } from '../cluster/own-processes.ts';
import { entryFile } from '../setup/package-root.ts';
import { runningSupervisors } from './running-supervisors.ts';
import {
  isSupervised,
  type RunningProcess,
  readSupervision,
  readSupervisorState,
  removeSupervision,
  type SupervisedProcess,
  type Supervision,
  type SupervisorState,
  writeSupervision,
} from './supervision.ts';

/** It has little to do and lives long: small heaps, no threads of the engine but one. */
const nodeFlags: readonly string[] = [
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
  '--v8-pool-size=1',
  '--optimize-for-size',
  '--single-threaded-gc',
];

/** What a process of ours may depend on; the rest is of the shell that said `up`. */
const kept =
  /^(PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|PORTHOLE_.*|XDG_.*|MALLOC_.*|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|(https?|no)_proxy|(HTTPS?|NO)_PROXY)$/;

export const supervisorLog = (root: string): string => join(root, 'logs/supervisor.log');

const startTimeoutMs = 60_000;
/** What runs for so long has written that it does, if it can. */
const newsTimeoutMs = 20_000;
const lookEveryMs = 20;

const recordOfSupervisor = (state: SupervisorState): RunningProcess => ({ role: 'supervisor', ...state });

/** The supervisor's own state, while it lives. */
export function livingSupervisor(root: string): SupervisorState | undefined {
  const state = readSupervisorState(root);
  return state && isAlive(recordOfSupervisor(state)) ? state : undefined;
}

/** `within`: a command that starts another one elsewhere, as nsenter does. */
export function spawnSupervisor(processes: Processes, root: string, within: readonly string[] = []): void {
  mkdirSync(join(root, 'logs'), { recursive: true, mode: 0o700 });
  const [program = '', ...args] = [
    ...within,
    process.execPath,
    ...nodeFlags,
    entryFile('supervisor', 'src/cmd/supervisor/supervisor-main.ts'),
    root,
  ];
  const child = processes.spawn(program, args, { detached: { logFile: supervisorLog(root) } });
  child.exited.catch(() => undefined); // shows in the wait for it
}

async function untilAlive(root: string): Promise<SupervisorState> {
  const started = performance.now();
  let lookAfterMs = newsTimeoutMs;
  for (;;) {
    const living = livingSupervisor(root);
    if (living) return living;
    const waitedMs = performance.now() - started;
    if (waitedMs > startTimeoutMs)
      throw new Error(`the supervisor did not start; see ${supervisorLog(root)}`);
    if (waitedMs > lookAfterMs) {
      lookAfterMs += 1_000;
      const [silent] = await runningSupervisors(linuxFiles, root);
      if (silent)
        throw new Error(
          `the supervisor (pid ${silent.pid}) runs, and cannot write so in ${root}: is that disk full? see ${supervisorLog(root)}`,
        );
    }
    await delay(lookEveryMs);
  }
}

/** True when it had to be started. One whose file was damaged writes it again by itself. */
async function startIfGone(processes: Processes, root: string): Promise<boolean> {
  if ((await runningSupervisors(linuxFiles, root)).length > 0) return false;
  spawnSupervisor(processes, root);
  return true;
}

/** True when it had to be started: it was gone, and nobody kept the cluster's processes running. */
export async function repairSupervisor(processes: Processes, root: string): Promise<boolean> {
  if (!readSupervision(root) || livingSupervisor(root)) return false;
  const started = await startIfGone(processes, root);
  await untilAlive(root);
  return started;
}

/** Who has it paused, as long as that command lives. */
export function pausedBy(supervision: Supervision | undefined, role: string): string | undefined {
  const pause = supervision?.paused?.find((one) => one.role === role && isAlive(one.by));
  return pause && `${pause.by.role} (pid ${pause.by.pid})`;
}

const environmentKept = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && kept.test(entry[0]),
    ),
  );

/**
 * Of a cluster that nobody supervises the supervisor starts, and is not waited for, before anybody knows what it is to do. False:
 * there is something to supervise, or was.
 */
export async function prepareSupervision(processes: Processes, root: string): Promise<boolean> {
  if (isSupervised(root)) return false;
  writeSupervision(root, { processes: [], running: [], environment: environmentKept() });
  await startIfGone(processes, root);
  return true;
}

/** Keeps these processes running from now on, and takes over those that run already. */
export async function superviseCluster(
  processes: Processes,
  root: string,
  wanted: readonly SupervisedProcess[],
  running: readonly RunningProcess[],
): Promise<void> {
  for (const { logFile } of wanted) mkdirSync(join(logFile, '..'), { recursive: true, mode: 0o700 });
  writeSupervision(root, { processes: wanted, running, environment: environmentKept() });
  const started = !livingSupervisor(root) && (await startIfGone(processes, root));
  const { pid } = await untilAlive(root);
  if (!started) process.kill(pid, 'SIGHUP');
}

/** It goes on, and nobody starts it again when it ends. */
export async function forgetProcess(processes: Processes, root: string, role: string): Promise<void> {
  const spec = readSupervision(root);
  if (!spec) return;
  const rest = spec.processes.filter((one) => one.role !== role);
  writeSupervision(root, { ...spec, processes: rest });
  await repairSupervisor(processes, root);
  const { pid } = await untilAlive(root);
  process.kill(pid, 'SIGHUP');
  const until = performance.now() + newsTimeoutMs;
  while (readSupervisorState(root)?.processes.some((one) => one.role === role)) {
    if (performance.now() > until)
      throw new Error(`the supervisor (pid ${pid}) does not let go of ${role}; see ${supervisorLog(root)}`);
    await delay(lookEveryMs);
  }
}

/** Its processes go on, and do not start it again: what it was told goes first. */
export async function endSupervisor(root: string, graceMs: number): Promise<void> {
  removeSupervision(root);
  const state = livingSupervisor(root);
  const found = await runningSupervisors(linuxFiles, root); // its file may be damaged
  await endProcesses([...(state ? [recordOfSupervisor(state)] : []), ...found], graceMs);
}
