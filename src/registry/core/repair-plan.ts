// Compares what Services hold with the records that say so: what upstream's repair controllers look for. Pure.
import type { Claim, Owner } from './claims.ts';

/** A Service, and the names that it holds by its spec. */
export interface Holder extends Owner {
  readonly names: readonly string[];
}

export interface RepairPlan {
  /** Held without a record: the store is of before there were any, or somebody deleted it. */
  readonly missing: readonly { readonly name: string; readonly owner: Owner }[];
  /** Held by this Service, and recorded for one that does not hold it. */
  readonly wrong: readonly { readonly claim: Claim; readonly owner: Owner }[];
  /** Recorded for another Service that holds it, too. */
  readonly shared: readonly { readonly claim: Claim; readonly owner: Owner }[];
  /** Nobody holds it. */
  readonly leaked: readonly Claim[];
}

/**
 * How long a record may be there before its Service is, as upstream: a request that has not ended by then has failed. A
 * Service that is there may be about to get what its record is for, too.
 */
const graceMs = 60_000;

const keyOf = ({ namespace, name }: Owner): string => `${namespace}/${name}`;

export function repairPlan(
  holders: readonly Holder[],
  claims: readonly Claim[],
  { nowMs, isOurs }: { readonly nowMs: number; readonly isOurs: (claim: Claim) => boolean },
): RepairPlan {
  const plan = {
    missing: [] as { name: string; owner: Owner }[],
    wrong: [] as { claim: Claim; owner: Owner }[],
    shared: [] as { claim: Claim; owner: Owner }[],
    leaked: [] as Claim[],
  };
  const byName = new Map(claims.map((claim) => [claim.name, claim]));
  const held = new Map(holders.map((holder) => [keyOf(holder), new Set(holder.names)]));
  const planned = new Set<string>();
  for (const owner of holders)
    for (const name of owner.names) {
      const claim = byName.get(name);
      const isTheirs = claim?.owner !== undefined && keyOf(claim.owner) === keyOf(owner);
      if (isTheirs) continue;
      if (claim === undefined) {
        if (!planned.has(name)) plan.missing.push({ name, owner });
      } else if (claim.owner !== undefined && held.get(keyOf(claim.owner))?.has(name) === true)
        plan.shared.push({ claim, owner });
      else if (!planned.has(name)) plan.wrong.push({ claim, owner });
      planned.add(name);
    }
  for (const claim of claims) {
    const isHeld = claim.owner !== undefined && held.get(keyOf(claim.owner))?.has(claim.name) === true;
    if (isHeld || planned.has(claim.name) || !isOurs(claim)) continue;
    if (nowMs - claim.createdMs > graceMs) plan.leaked.push(claim);
  }
  return plan;
}
