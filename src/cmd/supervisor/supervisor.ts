// Keeps processes running: starts what is not there, starts again what ended, after a growing while when it ends at once.
import type { Clock } from '../../base/clock.ts';
import { healthyMs, restartDelayMs } from './restart-delay.ts';
import type {
  ProcessEnd,
  RunningProcess,
  SupervisedProcess,
  SupervisedState,
  Supervision,
} from './supervision.ts';

export type Exit = Pick<ProcessEnd, 'code' | 'signal'>;

export interface Watched extends RunningProcess {
  readonly exited: Promise<Exit>;
}

export interface SupervisorPorts {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'timer'>;
  /** Throws when the program can't be started. */
  start(process: SupervisedProcess): Watched;
  /** Undefined when it does not run any more. */
  adopt(process: RunningProcess): Watched | undefined;
  changed(processes: readonly SupervisedState[]): void;
  say(text: string): void;
}

interface Entry {
  spec: SupervisedProcess;
  running: Watched | undefined;
  startedMs: number;
  failures: number;
  restarts: number;
  lastEnd: ProcessEnd | undefined;
  nextStartMs: number | undefined;
  cancelStart: () => void;
}

const exitText = ({ code, signal }: Exit): string =>
  signal !== undefined ? ` by ${signal}` : code === undefined ? '' : ` with exit code ${code}`;

export class Supervisor {
  readonly #ports: SupervisorPorts;
  readonly #entries = new Map<string, Entry>();
  #stopped = false;

  constructor(ports: SupervisorPorts) {
    this.#ports = ports;
  }

  /** `before`: what an earlier supervisor told. Processes that are no longer named are left to whoever ends them. */
  apply(spec: Supervision, before: readonly SupervisedState[]): void {
    for (const role of [...this.#entries.keys()])
      if (!spec.processes.some((one) => one.role === role)) this.#forget(role);
    for (const process of spec.processes) {
      const known = this.#entries.get(process.role);
      if (known) {
        known.spec = process;
        // Whoever asks for it does not want to wait for a pause to end.
        if (!known.running) this.#start(known);
        continue;
      }
      this.#add(
        process,
        spec.running,
        before.find((one) => one.role === process.role),
      );
    }
    this.#tell();
  }

  /** The processes go on. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) entry.cancelStart();
  }

  #forget(role: string): void {
    this.#entries.get(role)?.cancelStart();
    this.#entries.delete(role);
  }

  #add(
    spec: SupervisedProcess,
    running: readonly RunningProcess[],
    before: SupervisedState | undefined,
  ): void {
    const entry: Entry = {
      spec,
      running: undefined,
      startedMs: this.#ports.clock.monotonic(),
      failures: 0,
      restarts: before?.restarts ?? 0,
      lastEnd: before?.lastEnd,
      nextStartMs: undefined,
      cancelStart: () => {},
    };
    this.#entries.set(spec.role, entry);
    const candidates = [...running.filter((one) => one.role === spec.role)];
    if (before?.pid !== undefined && before.startTicks !== undefined)
      candidates.unshift({ role: spec.role, pid: before.pid, startTicks: before.startTicks });
    for (const candidate of candidates) {
      const adopted = this.#ports.adopt(candidate);
      if (!adopted) continue;
      this.#ports.say(`${spec.role} runs already, pid ${adopted.pid}`);
      this.#watch(entry, adopted);
      return;
    }
    // It ended while nobody looked.
    if (before?.pid !== undefined) entry.restarts++;
    this.#start(entry);
  }

  #start(entry: Entry): void {
    if (this.#stopped || entry.running) return;
    entry.cancelStart();
    entry.nextStartMs = undefined;
    try {
      const started = this.#ports.start(entry.spec);
      this.#ports.say(`${entry.spec.role} started, pid ${started.pid}`);
      this.#watch(entry, started);
    } catch (error) {
      this.#ports.say(`${entry.spec.role} can't be started: ${String(error)}`);
      this.#ended(entry, { code: 127 });
    }
  }

  #watch(entry: Entry, process: Watched): void {
    entry.running = process;
    entry.startedMs = this.#ports.clock.monotonic();
    void process.exited.then((exit) => {
      if (this.#entries.get(entry.spec.role) === entry) this.#ended(entry, exit);
    });
  }

  #ended(entry: Entry, exit: Exit): void {
    const { clock } = this.#ports;
    const ranMs = Math.round(clock.monotonic() - entry.startedMs);
    entry.running = undefined;
    entry.lastEnd = { ...exit, atMs: clock.now(), ranMs };
    if (this.#stopped) return;
    entry.failures = ranMs >= healthyMs ? 1 : entry.failures + 1;
    entry.restarts++;
    const delay = restartDelayMs(entry.failures);
    this.#ports.say(`${entry.spec.role} ended${exitText(exit)} after ${ranMs} ms; again in ${delay} ms`);
    entry.nextStartMs = clock.now() + delay;
    entry.startedMs = clock.monotonic();
    entry.cancelStart = clock.timer(delay, () => {
      this.#start(entry);
      this.#tell();
    });
    this.#tell();
  }

  #tell(): void {
    this.#ports.changed(
      [...this.#entries.values()].map(({ spec, running, restarts, lastEnd, nextStartMs }) => ({
        role: spec.role,
        pid: running?.pid,
        startTicks: running?.startTicks,
        restarts,
        lastEnd,
        nextStartMs: running ? undefined : nextStartMs,
      })),
    );
  }
}
