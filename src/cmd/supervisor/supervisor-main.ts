// The supervisor of one cluster, as a process: small, and of no importance to the processes that it keeps running.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../component-base/system-clock.ts';
import { takeFileLock } from '../../os/file-lock.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { isAlive, startTicksOf } from '../cluster/own-processes.ts';
import { runningProcesses } from '../cluster/what-runs.ts';
import { askProcess } from './ask-process.ts';
import { logLimits, rotateServerLog } from './rotate-log.ts';
import { sayOnce } from './say-once.ts';
import { livingSupervisor, pausedBy, supervisorLog } from './supervise-cluster.ts';
import {
  keepSupervisorState,
  putSupervisionBack,
  type RunningProcess,
  readSupervision,
  readSupervisorState,
  type SupervisedProcess,
  type SupervisedState,
  type Supervision,
  type SupervisorState,
  supervisedRootKey,
} from './supervision.ts';
import { type Exit, Supervisor, type Watched } from './supervisor.ts';

/** Only for processes that an earlier supervisor started: of its own children the kernel tells. */
const lookEveryMs = 250;
const tickMs = 1_000;
const ticksBetweenRotations = 5;

const root = process.argv[2] ?? '';
const spec = root === '' ? undefined : readSupervision(root);
if (!spec) {
  console.error(`supervisor: nothing to supervise in ${JSON.stringify(root)}`);
  process.exit(2);
}

const say = (text: string): void => console.error(`${new Date().toISOString()} ${text}`);

/** What it was told last; undefined as soon as the cluster is being ended. A damaged file is no news. */
let lastTold: Supervision = spec;
const reading = sayOnce('what to supervise', say);
const told = (): Supervision | undefined =>
  reading(() => {
    const fresh = readSupervision(root);
    if (fresh) lastTold = fresh;
    if (fresh || !putSupervisionBack(root, lastTold)) return fresh;
    say('what to supervise was removed, and no `porthole down` did so; written again');
    return lastTold;
  }, lastTold);

/** The cluster is being ended, or its folder is gone: its processes are somebody else's. */
function leave(): never {
  say(
    'this cluster is no more to be supervised: it is being ended, or its folder is gone; the supervisor ends',
  );
  process.exit(0);
}

let state: SupervisorState | undefined;
const writing = sayOnce('what is supervised cannot be written', say);
/** On a full disk it goes on all the same. Without its folder the cluster is gone: nothing of it is written again. */
function keepShowing(): void {
  if (state === undefined || !told()) return;
  const shown = state;
  writing(() => keepSupervisorState(root, shown), undefined);
}
function show(processes: readonly SupervisedState[]): void {
  state = { pid: process.pid, startTicks: startTicksOf(process.pid) ?? '', processes };
  keepShowing();
}

const rotating = sayOnce('logs are not rotated', say);
function rotateLogs(): void {
  for (const file of [supervisorLog(root), ...lastTold.processes.map(({ logFile }) => logFile)])
    rotateServerLog(file, logLimits);
}

/** Who looks after this supervisor from another network namespace finds the way back by it. */
const machineNetwork = openSync('/proc/self/ns/net', 'r');

function start({ role, command, logFile }: SupervisedProcess): Watched {
  const supervision = told();
  if (!supervision) leave();
  const [program = '', ...args] = command;
  const log = openSync(logFile, 'a', 0o600);
  try {
    const child = spawn(program, args, {
      detached: true,
      // The last is number machineNetworkFd there.
      stdio: ['ignore', log, log, machineNetwork],
      // Nothing else of the shell that said `up`: its tokens are none of theirs.
      env: { ...supervision.environment, [supervisedRootKey]: root },
    });
    const exited = new Promise<Exit>((resolve) => {
      child.on('error', () => resolve({ code: 127 }));
      child.on('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
    });
    if (child.pid === undefined) throw new Error(`${program}: not started`);
    return { role, pid: child.pid, startTicks: startTicksOf(child.pid) ?? '', exited };
  } finally {
    closeSync(log);
  }
}

function kill(running: RunningProcess): void {
  if (isAlive(running)) process.kill(running.pid, 'SIGKILL');
}

async function untilGone({ pid, startTicks }: RunningProcess): Promise<Exit> {
  while (startTicksOf(pid) === startTicks) await delay(lookEveryMs);
  return {};
}

const adopt = (running: RunningProcess): Watched | undefined =>
  startTicksOf(running.pid) === running.startTicks ? { ...running, exited: untilGone(running) } : undefined;

/** Also those that a supervisor started which was killed before it wrote so. */
async function whatRuns(): Promise<RunningProcess[]> {
  const paths = clusterPaths(join(root, '../..'), basename(root));
  try {
    const state = readClusterState(paths);
    return state ? await runningProcesses(linuxFiles, paths, state) : [];
  } catch (error) {
    say(`what runs is known from the last supervisor only: ${(error as Error).message}`);
    return [];
  }
}

/** Whoever ends the cluster takes the supervision away, then looks for us; so we show ourselves, then look for it. */
async function showOurselves(before: readonly SupervisedState[]): Promise<Supervision> {
  show(before);
  const running = await whatRuns();
  const fresh = told();
  if (!fresh) leave();
  return { ...fresh, running: [...fresh.running, ...running] };
}

async function serve(): Promise<void> {
  const before = readSupervisorState(root)?.processes ?? [];
  const supervisor = new Supervisor({
    clock: systemClock,
    start,
    adopt,
    ask: askProcess,
    kill,
    pausedBy: (role) => pausedBy(told(), role),
    changed: show,
    say,
  });
  const end = (): void => {
    supervisor.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  let begun = false;
  process.on('SIGHUP', () => {
    if (!begun) return; // it reads all before it begins
    const fresh = told();
    if (fresh) supervisor.apply(fresh, []);
    else leave();
  });
  // Who finds our number in the state may send signals from then on.
  const first = await showOurselves(before);
  begun = true;
  supervisor.apply(first, before);
  let ticks = 0;
  setInterval(() => {
    if (++ticks % ticksBetweenRotations === 0) rotating(rotateLogs, undefined);
    if (!told()) leave();
    keepShowing();
    supervisor.tick();
  }, tickMs);
}

// An error in here must not leave the cluster alone.
process.on('uncaughtException', (error) => say(`supervisor: ${error.stack ?? error.message}`));

try {
  // In a folder that nobody else may write to; the kernel takes it back when we are gone.
  const lock = await takeFileLock(linuxProcesses, join(root, 'supervisor.lock'), { wait: false });
  if (lock === undefined) {
    const pid = livingSupervisor(root)?.pid;
    say(`another supervisor has this cluster${pid === undefined ? '' : ` (pid ${pid})`}; this one ends`);
    process.exit(0);
  }
  await serve();
} catch (error) {
  say(`supervisor: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exit(1);
}
