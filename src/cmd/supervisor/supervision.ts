// What a cluster's supervisor is told, and what it tells: two files in the cluster's folder, each replaced whole.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../component-base/durable-file.ts';
import type { LivenessCheck } from './liveness.ts';

export interface SupervisedProcess {
  /** `server`, `agent linux-1`. */
  readonly role: string;
  readonly command: readonly string[];
  readonly logFile: string;
  /** How it is asked whether it works. */
  readonly liveness?: LivenessCheck;
}

/** A process of ours, safe against reuse of its number: the kernel's start time goes with it. */
export interface RunningProcess {
  readonly role: string;
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat, in clock ticks since boot. */
  readonly startTicks: string;
}

/** A command keeps this process stopped, as long as it runs itself. */
export interface Pause {
  readonly role: string;
  readonly by: RunningProcess;
}

/** Written by `up`, and by commands that pause a process. */
export interface Supervision {
  readonly processes: readonly SupervisedProcess[];
  /** What runs when the supervisor knows of nothing: it takes it over. */
  readonly running: readonly RunningProcess[];
  readonly environment: Readonly<Record<string, string>>;
  readonly paused?: readonly Pause[];
}

export interface ProcessEnd {
  /** Undefined for a process that the supervisor had taken over: only a parent learns it. */
  readonly code?: number | undefined;
  readonly signal?: string | undefined;
  /** Why it could not be started: it never ran. */
  readonly cause?: string | undefined;
  readonly atMs: number;
  readonly ranMs: number;
  /** The supervisor killed it: it did not answer any more. */
  readonly hung?: boolean | undefined;
}

export interface SupervisedState {
  readonly role: string;
  /** While it runs. */
  readonly pid?: number | undefined;
  readonly startTicks?: string | undefined;
  readonly restarts: number;
  readonly lastEnd?: ProcessEnd | undefined;
  /** While it waits for its next start. */
  readonly nextStartMs?: number | undefined;
  /** Who keeps it from being started. */
  readonly pausedBy?: string | undefined;
  /** It has answered since its start. */
  readonly answered?: boolean | undefined;
  /** It did not answer when it was asked last. */
  readonly silent?: boolean | undefined;
}

/** Written by the supervisor. */
export interface SupervisorState {
  readonly pid: number;
  readonly startTicks: string;
  readonly processes: readonly SupervisedState[];
}

/** In the environment of a supervised process: the cluster's folder. */
export const supervisedRootKey = 'PORTHOLE_SUPERVISED';
/** A supervised process has the machine's network namespace open under this number. */
export const machineNetworkFd = 3;

const specFile = (root: string): string => join(root, 'supervision.json');
/** In its place while the cluster is being ended: one that is only missing was removed by somebody else. */
const endedFile = (root: string): string => join(root, 'supervision.ended');
const stateFile = (root: string): string => join(root, 'supervisor.json');

/** Undefined when it is missing or damaged. Throws when the file is there and can't be read. */
function readJson<T extends { readonly processes: readonly unknown[] }>(file: string): T | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const value = JSON.parse(text) as T | null;
    return Array.isArray(value?.processes) ? value : undefined;
  } catch {
    return undefined;
  }
}

const writeJson = (file: string, value: unknown): void =>
  writeDurably(file, `${JSON.stringify(value, null, 2)}\n`);

/** It may be damaged. */
export const isSupervised = (root: string): boolean => existsSync(specFile(root));

/** Its supervisor was started before anybody knew what it is to do. */
export const isPrepared = (root: string): boolean =>
  readJson<Supervision>(specFile(root))?.processes.length === 0;

/** Throws Error with the next step when it is damaged: a supervisor that takes it for gone would end. */
export function readSupervision(root: string): Supervision | undefined {
  const spec = readJson<Supervision>(specFile(root));
  if (spec === undefined && isSupervised(root))
    throw new Error(`${specFile(root)} is damaged: \`porthole up\` with the cluster's name writes it again`);
  return spec;
}
export function writeSupervision(root: string, spec: Supervision): void {
  makeFolderDurably(root);
  writeJson(specFile(root), spec);
  rmSync(endedFile(root), { force: true });
}

/** From then on nobody starts anything of the cluster. */
export function removeSupervision(root: string): void {
  try {
    renameSync(specFile(root), endedFile(root));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    if (existsSync(root)) writeFileSync(endedFile(root), '', { mode: 0o600 });
  }
}

const isEnded = (root: string): boolean => !existsSync(root) || existsSync(endedFile(root));

/** For the supervisor, which knows what was in the file that is missing. False when the cluster is being ended. */
export function putSupervisionBack(root: string, spec: Supervision): boolean {
  if (isEnded(root)) return false;
  writeJson(specFile(root), spec);
  // it may have begun meanwhile
  if (isEnded(root)) rmSync(specFile(root), { force: true });
  return !isEnded(root);
}

/** Only what the supervisor remembers: a damaged one counts as none, and the supervisor writes it again. */
export const readSupervisorState = (root: string): SupervisorState | undefined => readJson(stateFile(root));
export const writeSupervisorState = (root: string, state: SupervisorState): void =>
  writeJson(stateFile(root), state);

/** Nothing runs any more, as was asked for: the next supervisor counts no accident. */
export const forgetSupervised = (root: string): void => rmSync(stateFile(root), { force: true });

/** Writes it unless the file says so already. */
export function keepSupervisorState(root: string, state: SupervisorState): void {
  if (JSON.stringify(readSupervisorState(root)) !== JSON.stringify(state)) writeSupervisorState(root, state);
}

export const supervisedState = (root: string, role: string): SupervisedState | undefined =>
  readSupervisorState(root)?.processes.find((one) => one.role === role);

/** The processes as the supervisor knows them; undefined when there was never one. */
export const supervisedProcesses = (root: string): RunningProcess[] | undefined =>
  readSupervisorState(root)?.processes.flatMap(({ role, pid, startTicks }) =>
    pid === undefined || startTicks === undefined ? [] : [{ role, pid, startTicks }],
  );
