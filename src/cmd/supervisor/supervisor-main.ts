// The supervisor of one cluster, as a process: small, and of no importance to the processes that it keeps running.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../component-base/system-clock.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { clusterPaths, readClusterState } from '../cluster/cluster-state.ts';
import { startTicksOf } from '../cluster/own-processes.ts';
import { runningProcesses } from '../cluster/what-runs.ts';
import { logLimits, rotateLog } from './rotate-log.ts';
import {
  type RunningProcess,
  readSupervision,
  readSupervisorState,
  type SupervisedProcess,
  type SupervisedState,
  type Supervision,
  supervisedRootKey,
  writeSupervisorState,
} from './supervision.ts';
import { type Exit, Supervisor, type Watched } from './supervisor.ts';
import { supervisorLock } from './supervisor-lock.ts';

/** Only for processes that an earlier supervisor started: of its own children the kernel tells. */
const lookEveryMs = 250;
const rotateEveryMs = 5_000;

const root = process.argv[2] ?? '';
const spec = root === '' ? undefined : readSupervision(root);
if (!spec) {
  console.error(`supervisor: nothing to supervise in ${JSON.stringify(root)}`);
  process.exit(2);
}

const say = (text: string): void => console.error(`${new Date().toISOString()} ${text}`);

/** Who looks after this supervisor from another network namespace finds the way back by it. */
const machineNetwork = openSync('/proc/self/ns/net', 'r');

function start({ role, command, logFile }: SupervisedProcess): Watched {
  const supervision = readSupervision(root);
  // A `down` has begun.
  if (!supervision) process.exit(0);
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

async function untilGone({ pid, startTicks }: RunningProcess): Promise<Exit> {
  while (startTicksOf(pid) === startTicks) await delay(lookEveryMs);
  return {};
}

const adopt = (running: RunningProcess): Watched | undefined =>
  startTicksOf(running.pid) === running.startTicks ? { ...running, exited: untilGone(running) } : undefined;

/** Also those that a supervisor started which was killed before it wrote so. */
async function whatRuns(): Promise<RunningProcess[]> {
  const paths = clusterPaths(join(root, '../..'), basename(root));
  const state = readClusterState(paths);
  return state ? runningProcesses(linuxFiles, paths, state) : [];
}

/** Whoever ends the cluster takes the supervision away, then looks for us; so we show ourselves, then look for it. */
async function showOurselves(before: readonly SupervisedState[]): Promise<Supervision> {
  writeSupervisorState(root, {
    pid: process.pid,
    startTicks: startTicksOf(process.pid) ?? '',
    processes: before,
  });
  const running = await whatRuns();
  const fresh = readSupervision(root);
  if (!fresh) process.exit(0);
  return { ...fresh, running: [...fresh.running, ...running] };
}

async function serve(): Promise<void> {
  const before = readSupervisorState(root)?.processes ?? [];
  const changed = (processes: readonly SupervisedState[]): void => {
    // Without its folder the cluster is gone: nothing of it is written again.
    if (readSupervision(root))
      writeSupervisorState(root, {
        pid: process.pid,
        startTicks: startTicksOf(process.pid) ?? '',
        processes,
      });
  };
  const supervisor = new Supervisor({ clock: systemClock, start, adopt, changed, say });
  const end = (): void => {
    supervisor.stop();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  let begun = false;
  process.on('SIGHUP', () => {
    if (!begun) return; // it reads all before it begins
    const fresh = readSupervision(root);
    if (fresh) supervisor.apply(fresh, []);
    else end();
  });
  // Who finds our number in the state may send signals from then on.
  const told = await showOurselves(before);
  begun = true;
  supervisor.apply(told, before);
  setInterval(() => {
    const now = readSupervision(root);
    if (!now) end();
    for (const { logFile } of now?.processes ?? []) rotateLog(logFile, logLimits);
  }, rotateEveryMs);
}

// An error in here must not leave the cluster alone.
process.on('uncaughtException', (error) => say(`supervisor: ${error.stack ?? error.message}`));

// One for a cluster: the kernel gives the name to one process and takes it back when that is gone.
const lock = createServer((socket) => socket.destroy());
lock.on('error', () => process.exit(0));
lock.listen({ path: supervisorLock(root) }, () => {
  serve().catch((error: unknown) => {
    say(`supervisor: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(1);
  });
});
