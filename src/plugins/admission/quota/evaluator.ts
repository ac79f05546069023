// Lets writes through as long as all quotas of their namespace have room: those that come together are looked at together,
// and what is let through is reserved by a compare-and-swap, so that two servers can't both take the last of it.
import { resourcequotas } from '../../../api/generated/resources.ts';
import type { ResourceQuota } from '../../../api/generated/types/core-v1.ts';
import { conflict, optimisticLock } from '../../../apimachinery/errors.ts';
import type { LiveObjects } from '../../../apiserver/live-objects.ts';
import type { Reservation, Reservations, Reserved } from '../../../component-helpers/quota-reservations.ts';
import { addUsage, isUnderQuota, type Usage } from '../../../component-helpers/quota-usage.ts';
import { fits, hardOf, only, statusOf, storedUsage } from './quota-room.ts';

/** A write that asks for room. */
export interface Claimant {
  readonly reservation: Reservation;
  readonly dryRun: boolean;
  /** Throws the refusal when the quota concerns it and is left too little room by `used`. */
  check(quota: ResourceQuota, used: Usage): void;
}

/** Shows in its status what a quota is used for. A status decides nothing: what is stored and reserved does. */
export type QuotaRecorder = (
  quota: ResourceQuota,
  status: { readonly hard: Record<string, string>; readonly used: Record<string, string> },
) => Promise<void>;

/** Another server was faster this often; it lets others through meanwhile. */
const attempts = 20;

interface Waiting {
  readonly claimant: Claimant;
  readonly settle: (refusal: unknown) => void;
}

export interface EvaluatorDeps {
  readonly live: LiveObjects;
  readonly reservations: Reservations;
  readonly record: QuotaRecorder;
}

export class QuotaEvaluator {
  readonly #deps: EvaluatorDeps;
  /** By namespace, those that wait while a batch of it is looked at. */
  readonly #lanes = new Map<string, Waiting[]>();

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps;
  }

  /** Resolves when it is let through, and whatever it takes is reserved; else throws the refusal. */
  admit(namespace: string, claimant: Claimant): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (refusal: unknown): void => (refusal === undefined ? resolve() : reject(refusal));
      const lane = this.#lanes.get(namespace);
      if (lane !== undefined) {
        lane.push({ claimant, settle });
        return;
      }
      this.#lanes.set(namespace, [{ claimant, settle }]);
      void this.#run(namespace);
    });
  }

  async #run(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#lanes.get(namespace)?.splice(0) ?? [];
      if (batch.length === 0) break;
      try {
        await this.#evaluate(namespace, batch);
      } catch (error) {
        for (const { settle } of batch) settle(error);
      }
    }
    this.#lanes.delete(namespace);
  }

  async #evaluate(namespace: string, batch: readonly Waiting[]): Promise<void> {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const reserved = await this.#deps.reservations.read(namespace);
      const decision = this.#decide(namespace, batch, reserved);
      if (!(await this.#write(namespace, reserved, decision, attempt > 1))) continue;
      for (const { claimant, settle } of batch) settle(decision.refusals.get(claimant));
      return;
    }
    throw conflict(resourcequotas, namespace, optimisticLock);
  }

  #decide(namespace: string, batch: readonly Waiting[], { all }: Reserved): Decision {
    const quotas = this.#deps.live.list(resourcequotas, { namespace });
    const used = new Map(
      quotas.map((quota) => {
        const hard = hardOf(quota);
        const onTheirWay = all
          .filter(({ shape }) => isUnderQuota(quota, shape))
          .map(({ usage }) => only(usage, hard));
        return [quota, onTheirWay.reduce(addUsage, storedUsage(this.#deps.live, quota, namespace))];
      }),
    );
    const refusals = new Map<Claimant, unknown>();
    const more: Reservation[] = [];
    const changed = new Set<ResourceQuota>();
    for (const { claimant } of batch) {
      try {
        for (const quota of quotas) claimant.check(quota, used.get(quota)!);
      } catch (refusal) {
        refusals.set(claimant, refusal);
        continue;
      }
      const { shape, usage } = claimant.reservation;
      // One of this name is there, and stays the only one; or another has changed what it is to change.
      if (claimant.dryRun || !this.#deps.reservations.awaitsWrite(namespace, claimant.reservation)) continue;
      more.push(claimant.reservation);
      for (const quota of quotas) {
        if (!isUnderQuota(quota, shape) || !fits(usage, quota)) continue;
        used.set(quota, addUsage(used.get(quota)!, only(usage, hardOf(quota))));
        changed.add(quota);
      }
    }
    return { refusals, all: [...all, ...more], more, used, changed };
  }

  /** The statuses beside the reservations, so that they share a sync. `again`: they tell of what was not reserved. */
  async #write(
    namespace: string,
    reserved: Reserved,
    { all, changed, more, used }: Decision,
    again: boolean,
  ): Promise<boolean> {
    const told = again ? [...used.keys()] : [...changed];
    const [isWritten] = await Promise.all([
      more.length === 0 || this.#deps.reservations.write(namespace, reserved, all),
      ...told.map((quota) => this.#deps.record(quota, statusOf(quota, used.get(quota)!))),
    ]);
    return isWritten;
  }
}

interface Decision {
  readonly refusals: ReadonlyMap<Claimant, unknown>;
  readonly all: readonly Reservation[];
  readonly more: readonly Reservation[];
  readonly used: ReadonlyMap<ResourceQuota, Usage>;
  readonly changed: ReadonlySet<ResourceQuota>;
}
