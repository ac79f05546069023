// Keeps processes running: starts what is not there, starts again what ended, or does not answer any more.
import type { Clock } from '../../base/clock.ts';
import { Liveness, type LivenessCheck, livenessLimits } from './liveness.ts';
import { healthyMs, restartDelayMs } from './restart-delay.ts';
import type {
  ProcessEnd,
  RunningProcess,
  SupervisedProcess,
  SupervisedState,
  Supervision,
} from './supervision.ts';

export type Exit = Pick<ProcessEnd, 'code' | 'signal' | 'cause'>;

export interface Watched extends RunningProcess {
  readonly exited: Promise<Exit>;
}

export interface SupervisorPorts {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'timer'>;
  /** Throws when the program can't be started. */
  start(process: SupervisedProcess): Watched;
  /** Undefined when it does not run any more. */
  adopt(process: RunningProcess): Watched | undefined;
  /** Whether it works. Rejects when it does not answer. */
  ask(check: LivenessCheck, signal: AbortSignal): Promise<boolean>;
  /** At once, and whatever it does. */
  kill(process: RunningProcess): void;
  /** Who keeps it stopped for now. */
  pausedBy(role: string): string | undefined;
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
  pausedBy: string | undefined;
  liveness: Liveness | undefined;
  toldHealth: string;
  hung: boolean;
}

function exitText({ code, signal, cause }: Exit, ranMs: number): string {
  if (cause !== undefined) return `can't be started: ${cause}`;
  const how = signal !== undefined ? ` by ${signal}` : code === undefined ? '' : ` with exit code ${code}`;
  return `ended${how} after ${ranMs} ms`;
}

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
        known.pausedBy = this.#ports.pausedBy(process.role);
        // Whoever asks for it does not want to wait for a delay to end.
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

  /** To be called once a second. */
  tick(): void {
    let news = false;
    for (const entry of this.#entries.values()) {
      const { liveness, running, pausedBy } = entry;
      entry.pausedBy = this.#ports.pausedBy(entry.spec.role);
      if (pausedBy !== undefined && entry.pausedBy === undefined && !running) this.#start(entry);
      if (entry.pausedBy !== pausedBy) news = true;
      if (!liveness || !running) continue;
      const hangs = liveness.tick();
      const health = `${liveness.answered} ${liveness.silent}`;
      if (health !== entry.toldHealth) news = true;
      entry.toldHealth = health;
      if (hangs && entry.pausedBy === undefined) this.#killHung(entry, running);
    }
    if (news) this.#tell();
  }

  /** The processes go on. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) {
      entry.cancelStart();
      entry.liveness?.stop();
    }
  }

  #killHung(entry: Entry, running: Watched): void {
    if (entry.hung) return; // it is on its way
    entry.hung = true;
    const { failures, everySeconds } = livenessLimits;
    this.#ports.say(
      `${entry.spec.role}, pid ${running.pid}, did not answer ${failures} times, ${everySeconds} s apart; killing it`,
    );
    this.#ports.kill(running);
  }

  #forget(role: string): void {
    this.#entries.get(role)?.cancelStart();
    this.#entries.get(role)?.liveness?.stop();
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
      pausedBy: this.#ports.pausedBy(spec.role),
      liveness: undefined,
      toldHealth: '',
      hung: false,
    };
    this.#entries.set(spec.role, entry);
    const candidates = [...running.filter((one) => one.role === spec.role)];
    if (before?.pid !== undefined && before.startTicks !== undefined)
      candidates.unshift({ role: spec.role, pid: before.pid, startTicks: before.startTicks });
    for (const candidate of candidates) {
      const adopted = this.#ports.adopt(candidate);
      if (!adopted) continue;
      this.#ports.say(`${spec.role} runs already, pid ${adopted.pid}`);
      this.#watch(entry, adopted, before?.pid === adopted.pid && before.answered === true);
      return;
    }
    // It ended while nobody looked.
    if (before?.pid !== undefined && entry.pausedBy === undefined) entry.restarts++;
    this.#start(entry);
  }

  #start(entry: Entry): void {
    if (this.#stopped || entry.running) return;
    entry.cancelStart();
    entry.nextStartMs = undefined;
    if (entry.pausedBy !== undefined) {
      this.#ports.say(`${entry.spec.role} stays stopped for ${entry.pausedBy}`);
      return;
    }
    entry.startedMs = this.#ports.clock.monotonic(); // what it waited is no time in which it ran
    try {
      const started = this.#ports.start(entry.spec);
      this.#ports.say(`${entry.spec.role} started, pid ${started.pid}`);
      this.#watch(entry, started, false);
    } catch (error) {
      this.#ended(entry, { code: 127, cause: error instanceof Error ? error.message : String(error) });
    }
  }

  #watch(entry: Entry, process: Watched, answered: boolean): void {
    const { liveness: check } = entry.spec;
    entry.running = process;
    entry.hung = false;
    entry.liveness = check
      ? new Liveness((signal) => this.#ports.ask(entry.spec.liveness ?? check, signal), {
          startSeconds: check.startSeconds,
          answered,
        })
      : undefined;
    entry.startedMs = this.#ports.clock.monotonic();
    void process.exited.then((exit) => {
      if (this.#entries.get(entry.spec.role) === entry) this.#ended(entry, exit);
    });
  }

  #ended(entry: Entry, exit: Exit): void {
    const { clock } = this.#ports;
    const ranMs = Math.round(clock.monotonic() - entry.startedMs);
    entry.running = undefined;
    entry.liveness?.stop();
    entry.liveness = undefined;
    entry.lastEnd = { ...exit, atMs: clock.now(), ranMs, hung: entry.hung || undefined };
    if (this.#stopped) return;
    // Its end was asked for: no restart, and no failure.
    if (entry.pausedBy !== undefined) {
      entry.failures = 0;
      this.#start(entry);
      this.#tell();
      return;
    }
    entry.failures = ranMs >= healthyMs ? 1 : entry.failures + 1;
    entry.restarts++;
    const delay = restartDelayMs(entry.failures);
    this.#ports.say(`${entry.spec.role} ${exitText(exit, ranMs)}; again in ${delay} ms`);
    entry.nextStartMs = clock.now() + delay;
    entry.cancelStart = clock.timer(delay, () => {
      this.#start(entry);
      this.#tell();
    });
    this.#tell();
  }

  #tell(): void {
    this.#ports.changed(
      [...this.#entries.values()].map((entry) => ({
        role: entry.spec.role,
        pid: entry.running?.pid,
        startTicks: entry.running?.startTicks,
        restarts: entry.restarts,
        lastEnd: entry.lastEnd,
        nextStartMs: entry.running ? undefined : entry.nextStartMs,
        pausedBy: entry.pausedBy,
        answered: entry.liveness?.answered || undefined,
        silent: entry.liveness?.silent || undefined,
      })),
    );
  }
}
