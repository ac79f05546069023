// The priority levels beside each other: each has its share of the seats, lends what it does not use and gets it back.
import type { PriorityLevelConfiguration } from '../../api/generated/types/flowcontrol-v1.ts';
import { QueueSet, type QueueShape } from './queue-set.ts';

export interface PriorityLevel {
  readonly name: string;
  uid: string;
  exempt: boolean;
  /** Seats that are its own. */
  nominal: number;
  /** Of these, what nobody else may have. */
  kept: number;
  /** With what it may borrow. */
  most: number;
  readonly queues: QueueSet;
}

/** When the store has none: as upstream's mandatory objects. */
const mandatory: readonly PriorityLevelConfiguration[] = [
  { metadata: { name: 'exempt' }, spec: { type: 'Exempt', exempt: {} } },
  {
    metadata: { name: 'catch-all' },
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
  },
];

const sharesOf = ({ spec }: PriorityLevelConfiguration): number =>
  spec.type === 'Exempt'
    ? (spec.exempt?.nominalConcurrencyShares ?? 0)
    : (spec.limited?.nominalConcurrencyShares ?? 30);

/** Upstream takes ten million. All are looked at when one is to be served, so there are no more than are of use. */
const maxQueues = 1024;

function shapeOf({ spec }: PriorityLevelConfiguration): QueueShape {
  const response = spec.limited?.limitResponse;
  if (response?.type !== 'Queue') return { queues: 0, handSize: 0, queueLengthLimit: 0 };
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = response.queuing ?? {};
  return { queues: Math.min(queues, maxQueues), handSize, queueLengthLimit };
}

export class PriorityLevels {
  readonly #total: number;
  readonly #levels = new Map<string, PriorityLevel>();

  constructor(total: number) {
    this.#total = total;
    this.configure([]);
  }

  get all(): Iterable<PriorityLevel> {
    return this.#levels.values();
  }
  get(name: string): PriorityLevel | undefined {
    return this.#levels.get(name);
  }

  /** Levels that are gone stay as long as somebody is in them, with one seat, so that who waits there is served. */
  configure(configurations: readonly PriorityLevelConfiguration[]): void {
    const named = new Map([...mandatory, ...configurations].map((c) => [c.metadata.name ?? '', c]));
    let sum = 0;
    for (const configuration of named.values()) sum += sharesOf(configuration);
    for (const [name, configuration] of named) this.#set(name, configuration, Math.max(sum, 1));
    for (const [name, level] of this.#levels) {
      if (named.has(name)) continue;
      level.nominal = 1;
      level.kept = 0;
      if (level.queues.executing + level.queues.waiting === 0) this.#levels.delete(name);
    }
  }

  #set(name: string, configuration: PriorityLevelConfiguration, sum: number): void {
    const { spec, metadata } = configuration;
    const nominal = Math.ceil((this.#total * sharesOf(configuration)) / sum);
    const part = spec.type === 'Exempt' ? spec.exempt : spec.limited;
    const lendable = Math.round((nominal * (part?.lendablePercent ?? 0)) / 100);
    const borrowing = spec.limited?.borrowingLimitPercent;
    const shape = shapeOf(configuration);
    let level = this.#levels.get(name);
    if (level === undefined) {
      const mayTake = (width: number, inUse: number): boolean => this.#mayTake(name, width, inUse);
      level = {
        name,
        uid: '',
        exempt: false,
        nominal,
        kept: 0,
        most: 0,
        queues: new QueueSet(shape, mayTake),
      };
      this.#levels.set(name, level);
    } else level.queues.reshape(shape);
    level.uid = metadata.uid ?? '';
    level.exempt = spec.type === 'Exempt';
    level.nominal = nominal;
    level.kept = nominal - lendable;
    level.most = borrowing === undefined ? this.#total : nominal + Math.round((nominal * borrowing) / 100);
  }

  /**
   * A level's own seats are always there for it: what was lent is not waited for, so that for as long as such a request
   * lasts there are more under way than the total. Beyond them it takes what the others neither use nor keep.
   */
  #mayTake(name: string, width: number, inUse: number): boolean {
    const level = this.#levels.get(name);
    if (level === undefined) return false;
    const wanted = inUse + width;
    if (wanted <= level.nominal) return true;
    if (wanted > level.most) return false;
    let taken = wanted;
    for (const other of this.#levels.values())
      if (other !== level && !other.exempt) taken += Math.max(other.queues.seatsInUse, other.kept);
    return taken <= this.#total;
  }
}
