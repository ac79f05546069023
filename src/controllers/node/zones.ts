// How many nodes of each zone are ready, counted as they change: to look at all of them at each costs more the more there are.
import type { Node } from '../../api/generated/types/core-v1.ts';
import { countsForZone, readyStatus, zoneKey } from './zone-state.ts';

export interface Zone {
  readonly members: ReadonlySet<string>;
  /** Of those that count for its state. */
  readonly ready: number;
  readonly notReady: number;
}

interface Counted extends Zone {
  readonly members: Set<string>;
  ready: number;
  notReady: number;
}

interface Mark {
  readonly zone: string;
  readonly counts: 'ready' | 'notReady' | undefined;
}

const markOf = (node: Node): Mark => ({
  zone: zoneKey(node),
  counts: countsForZone(node) ? (readyStatus(node) === 'True' ? 'ready' : 'notReady') : undefined,
});

export class Zones {
  readonly #marks = new Map<string, Mark>();
  readonly #zones = new Map<string, Counted>();

  constructor(nodes: readonly Node[]) {
    for (const node of nodes) this.saw(node);
  }

  get all(): ReadonlyMap<string, Zone> {
    return this.#zones;
  }

  /** Whether that changed anything. */
  saw(node: Node): boolean {
    const { name } = node.metadata;
    const [before, now] = [this.#marks.get(name), markOf(node)];
    if (before?.zone === now.zone && before.counts === now.counts) return false;
    this.left(name);
    const zone = this.#zones.get(now.zone) ?? { members: new Set(), ready: 0, notReady: 0 };
    this.#zones.set(now.zone, zone);
    this.#marks.set(name, now);
    zone.members.add(name);
    if (now.counts !== undefined) zone[now.counts]++;
    return true;
  }

  left(name: string): void {
    const mark = this.#marks.get(name);
    const zone = mark && this.#zones.get(mark.zone);
    if (mark === undefined || zone === undefined) return;
    this.#marks.delete(name);
    zone.members.delete(name);
    if (mark.counts !== undefined) zone[mark.counts]--;
    if (zone.members.size === 0) this.#zones.delete(mark.zone);
  }
}
