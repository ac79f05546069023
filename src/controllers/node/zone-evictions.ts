// Whose turn it is: nodes that are not ready are evicted from one after another, at the pace of their zone.
import type { Node } from '../../api/generated/types/core-v1.ts';
import { EvictionPace } from './eviction-pace.ts';
import { hasEvictionTaint } from './node-health.ts';
import { type EvictionRates, evictionRate, readyStatus, zoneKey, zoneState } from './zone-state.ts';
import type { Zones } from './zones.ts';

export interface ZonesLook {
  /** Names of nodes for which something has changed. */
  readonly again: readonly string[];
  /** Whether from now on all zones are without a ready node, or no longer. */
  readonly total: 'begun' | 'ended' | undefined;
}

/** Moments are those of a clock that never goes back. */
export class ZoneEvictions {
  readonly #rates: EvictionRates;
  readonly #paces = new Map<string, EvictionPace>();
  readonly #notReadySince = new Map<string, number>();
  /** Who had its turn: it costs one token a silence, also when the write has to be tried again. */
  readonly #granted = new Set<string>();
  #isTotal = false;

  constructor(rates: EvictionRates) {
    this.#rates = rates;
  }

  /** To be called when readiness or zone of any node has changed. */
  look(zones: Zones, moment: number): ZonesLook {
    const states = [...zones.all].map(([zone, counted]) => {
      const state = zoneState(counted, this.#rates.unhealthyZoneThreshold);
      return { zone, members: counted.members, state, size: counted.ready + counted.notReady };
    });
    const known = states.filter(({ size }) => size > 0);
    const isTotal = known.length > 0 && known.every(({ state }) => state === 'FullDisruption');
    const total = isTotal === this.#isTotal ? undefined : isTotal ? 'begun' : 'ended';
    this.#isTotal = isTotal;
    if (isTotal) this.#granted.clear();
    for (const zone of this.#paces.keys()) if (!zones.all.has(zone)) this.#paces.delete(zone);
    const changed = states.filter(({ zone, state, size }) =>
      this.#paceOf(zone, moment).setRate(isTotal ? 0 : evictionRate(state, size, this.#rates), moment),
    );
    return { again: (total === undefined ? changed : states).flatMap(({ members }) => [...members]), total };
  }

  /** 0: pods may be evicted from it now. Else when to ask again, which may be never: then `look` will say so. */
  waitFor(node: Node, moment: number): number {
    const { name } = node.metadata;
    const ready = readyStatus(node);
    if (ready !== 'False' && ready !== 'Unknown') {
      this.forget(name);
      return Number.POSITIVE_INFINITY;
    }
    const since = this.#notReadySince.get(name) ?? moment;
    this.#notReadySince.set(name, since);
    if (this.#isTotal) return Number.POSITIVE_INFINITY;
    if (this.#granted.has(name) || hasEvictionTaint(node)) return 0;
    const watchedUntil = since + this.#rates.monitorPeriodMs;
    if (moment < watchedUntil) return watchedUntil - moment;
    const wait = this.#paceOf(zoneKey(node), moment).take(moment);
    if (wait === 0) this.#granted.add(name);
    return wait;
  }

  forget(name: string): void {
    this.#notReadySince.delete(name);
    this.#granted.delete(name);
  }

  #paceOf(zone: string, moment: number): EvictionPace {
    const pace = this.#paces.get(zone) ?? new EvictionPace(this.#rates.perSecond, moment);
    this.#paces.set(zone, pace);
    return pace;
  }
}
