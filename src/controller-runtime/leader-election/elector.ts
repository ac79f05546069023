// Runs for a Lease, and lets somebody work while it leads: the state machine of election.ts with a client and a clock.
import { leases } from '../../api/generated/resources.ts';
import type { Lease } from '../../api/generated/types/coordination-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type Clock, rfc3339Micro } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { within } from '../../base/within.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { type Count, declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import {
  candidate,
  claimed,
  claimLease,
  type Election,
  type ElectionTimes,
  givenBack,
  type Leadership,
  leads,
  type Observation,
  observeLease,
  resigned,
  usualTimes,
} from './election.ts';

/** A time of leading. */
export interface Term {
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /**
   * Throws when it was lost, also while the next one of this process goes on, and when `lead` has ended: to be asked
   * before each write, as a process that was stopped hears of nothing.
   */
  check(): void;
}

export interface ElectorOptions {
  readonly client: Client;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Nobody else's. Whoever has it when it starts takes back at once what it had. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  readonly times?: ElectionTimes;
  /** Works until the term is over, and resolves when nothing of it is left. */
  lead(term: Term): Promise<void>;
  /** The Lease says that another leads. */
  onStandby?(): void;
}

const observationOf = ({ metadata, spec }: Lease): Observation => ({
  leadership: {
    holder: spec?.holderIdentity ?? '',
    durationSeconds: spec?.leaseDurationSeconds ?? 0,
    transitions: spec?.leaseTransitions ?? 0,
    acquireTime: spec?.acquireTime ?? '',
  },
  version: metadata.resourceVersion ?? '',
});

const declared = declareMetrics((metrics) => ({
  status: metrics.readGauge(
    'leader_election_master_status',
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ['name'],
  ),
  slowPath: metrics.counter(
    'leader_election_slowpath_total',
    "Total number of slow path exercised in renewing leader leases. 'name' is the string used to identify the lease. Please make sure to group by name.",
    ['name'],
  ),
}));

export class LeaderElector {
  readonly #options: ElectorOptions;
  readonly #times: ElectionTimes;
  #state: Election;
  /** The Lease as it was read or written last: what is not ours in it stays. */
  #lease: Lease | undefined;
  #ended: Promise<void> = Promise.resolve();
  #endTerm: (() => void) | undefined;
  #deadline: () => void = () => {};
  /** One after the other, of which only the first is worth a warning. */
  #failures = 0;
  readonly #failure = new AbortController();
  readonly #slowPath: Count;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#slowPath = declared(options.metrics).slowPath.of({ name: options.lease.name });
    this.#times = options.times ?? usualTimes;
    this.#state = candidate(options.identity);
  }

  /** Until the signal is aborted; the Lease is given back then. Rejects with what `lead` throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, lease, metrics } = this.#options;
    const ending = AbortSignal.any([signal, this.#failure.signal]);
    const hide = declared(metrics).status.add(() => [[{ name: lease.name }, this.#isLeading() ? 1 : 0]]);
    while (!ending.aborted) {
      await this.#round();
      await clock.sleep(this.#restMs(), ending).catch(() => {});
    }
    // What is under way may still be written, as long as the Lease is its own.
    this.#endTerm?.();
    await this.#ended;
    this.#state = resigned(this.#state);
    await this.#giveBack();
    hide();
    if (this.#failure.signal.aborted) throw this.#failure.signal.reason;
  }

  /** As client-go: those that wait do not all come at once. */
  #restMs(): number {
    const { retryPeriodMs } = this.#times;
    return this.#isLeading() ? retryPeriodMs : retryPeriodMs * (1 + this.#options.random.uint(1_200) / 1_000);
  }

  #isLeading(): boolean {
    return leads(this.#state, this.#options.clock.monotonic(), this.#times);
  }

  /** Reads unless it leads, claims what may be claimed, and begins or goes on with a term. */
  async #round(): Promise<void> {
    const { clock, log } = this.#options;
    const beganMs = clock.monotonic();
    try {
      await within(clock, this.#times.renewDeadlineMs, this.#renew(beganMs));
    } catch (error) {
      this.#lease = undefined;
      const isLost = isStatusError(error, 'Conflict') || isStatusError(error, 'AlreadyExists');
      const level = this.#failures++ === 0 && !isLost ? 'warn' : 'debug';
      log[level]({ error, lease: this.#options.lease }, 'the lease could not be read or written');
      return;
    }
    this.#failures = 0;
    if (this.#isLeading()) await this.#go();
    else this.#options.onStandby?.();
  }

  async #renew(beganMs: number): Promise<void> {
    const { clock } = this.#options;
    const isLeading = this.#isLeading();
    // The renewal before failed: somebody else may have written.
    if (isLeading && this.#lease === undefined) this.#slowPath.inc();
    if (this.#lease === undefined || !isLeading) await this.#read();
    const wanted = claimLease(this.#state, clock.monotonic(), this.#times, rfc3339Micro(clock.now()));
    if (wanted === undefined) return;
    // Of a read that took long only what is left counts.
    const stored = await this.#write(wanted);
    if (clock.monotonic() >= beganMs + this.#times.renewDeadlineMs) return;
    // Of a process that was stopped no timer has told yet that its term is over: it must not go on as part of the next.
    this.#watchDeadline();
    this.#state = claimed(this.#state, observationOf(stored), beganMs);
  }

  async #read(): Promise<void> {
    const { client, clock, lease } = this.#options;
    this.#lease = await client.get(leases, lease).catch((error: unknown) => {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    });
    const seen = this.#lease && observationOf(this.#lease);
    this.#state = observeLease(this.#state, seen, clock.monotonic());
  }

  async #write({ acquireTime, durationSeconds, holder, transitions }: Leadership): Promise<Lease> {
    const { client, clock, lease } = this.#options;
    const spec = {
      ...this.#lease?.spec,
      holderIdentity: holder,
      leaseDurationSeconds: durationSeconds,
      leaseTransitions: transitions,
      acquireTime,
      renewTime: rfc3339Micro(clock.now()),
    };
    const next =
      this.#lease === undefined
        ? client.create(leases, { metadata: { ...lease }, spec })
        : client.update(leases, { ...this.#lease, spec });
    this.#lease = await next;
    return this.#lease;
  }

  /** A term ends with the deadline, and a next one begins when nothing of it is left. */
  async #go(): Promise<void> {
    const { identity, lease, log } = this.#options;
    if (this.#endTerm === undefined) {
      await this.#ended;
      if (!this.#isLeading()) return;
      log.info({ lease, identity }, 'leads');
      this.#begin();
    }
    this.#watchDeadline();
  }

  /** A timer may be early, and what it waits for later by then. */
  #watchDeadline(): void {
    const { clock, identity, lease, log } = this.#options;
    this.#deadline();
    if (this.#endTerm === undefined) return;
    if (!this.#isLeading()) {
      log.warn({ lease, identity }, 'leads no more: the lease could not be renewed in time');
      this.#endTerm();
      return;
    }
    const leftMs = (this.#state.renewedMs ?? 0) + this.#times.renewDeadlineMs - clock.monotonic();
    this.#deadline = clock.timer(Math.ceil(leftMs), () => this.#watchDeadline());
  }

  #begin(): void {
    const over = new AbortController();
    let isLost = false;
    this.#endTerm = () => {
      this.#deadline();
      this.#endTerm = undefined;
      isLost = !this.#isLeading();
      over.abort(new Error('leads no more'));
    };
    const check = (): void => {
      if (!isLost && this.#isLeading()) return;
      // In a process that stood still this may be asked before the timer tells: what fails now fails because its term is over.
      if (!isLost) this.#watchDeadline();
      throw new Error(`${this.#options.identity} does not lead ${this.#options.lease.name} any more`);
    };
    const end = (): void => {
      isLost = true;
    };
    this.#ended = this.#options
      .lead({ signal: over.signal, check })
      .catch((error: unknown) => this.#failure.abort(error))
      .finally(end);
  }

  async #giveBack(): Promise<void> {
    const { clock, log } = this.#options;
    const wanted = givenBack(this.#state, rfc3339Micro(clock.now()));
    if (wanted === undefined || this.#lease === undefined) return;
    await within(clock, this.#times.renewDeadlineMs, this.#write(wanted)).catch((error: unknown) =>
      log.debug({ error }, 'the lease was not given back: others wait for its end'),
    );
  }
}
