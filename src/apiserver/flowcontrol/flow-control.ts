// Lets requests in as the FlowSchemas and PriorityLevelConfigurations say, and tells who is to go on when one has ended.
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/generated/types/flowcontrol-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { nameOf } from '../../apimachinery/json-access.ts';
import type { Clock } from '../../base/clock.ts';
import { Rounds } from '../../base/rounds.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import type { RequestInfo } from '../request-info.ts';
import type { FlowMetrics } from './flow-metrics.ts';
import { byPrecedence, matches } from './flow-schemas.ts';
import { type PriorityLevel, PriorityLevels } from './priority-levels.ts';
import type { Refusal, Ticket } from './queue-set.ts';
import { flowOf, sharerOf } from './shares.ts';
import { isFlowSchema, isPriorityLevel } from './stored-objects.ts';

/** What the store has; `version` differs when something changed. */
export interface FlowObjects {
  version(): number;
  schemas(): readonly FlowSchema[];
  levels(): readonly PriorityLevelConfiguration[];
}

export interface FlowControlOptions {
  /** Seats of all levels together. */
  readonly total: number;
  readonly clock: Clock;
  readonly metrics: FlowMetrics;
  readonly objects?: FlowObjects | undefined;
  /** Told of what is stored and can't be used: it is left out. */
  readonly unusable?: (kind: string, name: string) => void;
}

export interface Classified {
  readonly schema: FlowSchema;
  readonly level: PriorityLevel;
}

/** What is looked at of a request; its signal only when it waits. */
interface Entering {
  readonly signal: AbortSignal;
  readonly waited?: boolean | undefined;
}

/** Of a round: so short because what begins in it comes on top of what the connections' turns take. */
const sliceMs = 3;

/** As upstream: a quarter of the request's own time limit. */
const maxWaitMs = 15_000;

/** As upstream's mandatory objects, for a store that lacks them. */
const mandatory: readonly FlowSchema[] = [
  {
    metadata: { name: 'exempt' },
    spec: {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 1,
      rules: [everything('system:masters')],
    },
  },
  {
    metadata: { name: 'catch-all' },
    spec: {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [everything('*')],
    },
  },
];

function everything(group: string): NonNullable<FlowSchema['spec']['rules']>[number] {
  const all = ['*'];
  return {
    subjects: [{ kind: 'Group', group: { name: group } }],
    resourceRules: [{ verbs: all, apiGroups: all, resources: all, clusterScope: true, namespaces: all }],
    nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
  };
}

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #levels: PriorityLevels;
  readonly #waiting = new Map<Ticket, () => void>();
  /** When a request that may run begins, by whose share it takes. */
  readonly #rounds: Rounds<string>;
  #schemas: readonly FlowSchema[] = byPrecedence(mandatory);
  #version: number | undefined;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.#levels = new PriorityLevels(options.total);
    this.#rounds = new Rounds(setImmediate, () => options.clock.monotonic(), sliceMs);
  }

  classify(user: UserInfo, info: RequestInfo): Classified {
    this.#refresh();
    for (const schema of this.#schemas) {
      const level = this.#levels.get(schema.spec.priorityLevelConfiguration.name);
      // A schema whose level is not there is dangling: it matches nothing.
      if (level !== undefined && matches(schema, user, info)) return { schema, level };
    }
    return { schema: mandatory[1]!, level: this.#levels.get('catch-all')! };
  }

  /**
   * Waits for its turn alone; undefined: at once. A request that waited for its connection's turn waits for its user's as
   * well: done in the turn of its connection, who has most connections would have most.
   */
  turn(user: UserInfo, { waited }: Pick<Entering, 'waited'>): Promise<void> | undefined {
    return this.#rounds.begin(user.name, sharerOf(user), waited);
  }

  /** Waits for its turn and for seats. The ticket is to be given back; a refusal is an answer, not an error. */
  async enter(
    { schema, level }: Classified,
    user: UserInfo,
    info: RequestInfo,
    width: number,
    request: Entering,
  ): Promise<Ticket | Refusal> {
    const { clock, metrics } = this.#options;
    const turn = this.turn(user, request);
    if (turn !== undefined) await turn;
    const schemaName = schema.metadata.name ?? '';
    const crowd = metrics.crowd(schemaName, level.name);
    const arrived = clock.monotonic();
    const ticket = level.queues.arrive(flowOf(schema, user, info), width, arrived);
    let refusal: Refusal | undefined = typeof ticket === 'string' ? ticket : undefined;
    if (typeof ticket !== 'string' && ticket.started === undefined) {
      // Who waits in front may fit although a queue was not empty.
      this.#dispatch(level);
      if (ticket.started === undefined) {
        crowd.waiting += 1;
        refusal = await this.#wait(level, ticket, request.signal);
        crowd.waiting -= 1;
        // One that ended may let many in.
        if (refusal === undefined) await this.turn(user, request);
      }
    }
    if (refusal !== undefined || typeof ticket === 'string') {
      metrics.rejected(schemaName, level.name, refusal ?? 'concurrency-limit');
      return refusal ?? 'concurrency-limit';
    }
    crowd.executing += 1;
    crowd.seats += width;
    metrics.dispatched(schemaName, level.name, clock.monotonic() - arrived);
    return ticket;
  }

  leave({ schema, level }: Classified, ticket: Ticket): void {
    const { clock, metrics } = this.#options;
    level.queues.finish(ticket, clock.monotonic());
    const crowd = metrics.crowd(schema.metadata.name ?? '', level.name);
    crowd.executing -= 1;
    crowd.seats -= ticket.width;
    if (this.#waiting.size === 0) return;
    this.#dispatch(level);
    // What it gave back may be lent to others.
    for (const other of this.#levels.all)
      if (other !== level && other.queues.waiting > 0) this.#dispatch(other);
  }

  #dispatch(level: PriorityLevel): void {
    for (const ticket of level.queues.dispatch(this.#options.clock.monotonic())) {
      const go = this.#waiting.get(ticket);
      this.#waiting.delete(ticket);
      go?.();
    }
  }

  #wait(level: PriorityLevel, ticket: Ticket, signal: AbortSignal): Promise<Refusal | undefined> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const end = (refusal: Refusal | undefined): void => {
        cancel();
        signal.removeEventListener('abort', aborted);
        this.#waiting.delete(ticket);
        resolve(refusal);
      };
      const giveUp = (refusal: Refusal): void => {
        if (level.queues.abandon(ticket, clock.monotonic())) end(refusal);
      };
      const aborted = (): void => giveUp('cancelled');
      const cancel = clock.timer(maxWaitMs, () => giveUp('time-out'));
      this.#waiting.set(ticket, () => end(undefined));
      signal.addEventListener('abort', aborted);
      if (signal.aborted) aborted();
    });
  }

  #refresh(): void {
    const { objects, metrics } = this.#options;
    if (objects === undefined) return;
    const version = objects.version();
    if (version === this.#version) return;
    this.#version = version;
    const schemas = this.#usable('FlowSchema', objects.schemas(), isFlowSchema);
    const named = new Map([...mandatory, ...schemas].map((s) => [s.metadata.name, s]));
    this.#schemas = byPrecedence([...named.values()]);
    this.#levels.configure(this.#usable('PriorityLevelConfiguration', objects.levels(), isPriorityLevel));
    for (const { name, nominal, kept, most } of this.#levels.all) metrics.seats(name, nominal, kept, most);
  }

  /** These are read at each request of everybody: one that is damaged must not end them all. */
  #usable<T extends FlowSchema | PriorityLevelConfiguration>(
    kind: string,
    stored: readonly T[],
    is: (object: JsonObject) => boolean,
  ): T[] {
    return stored.filter((object) => {
      const json = object as unknown as JsonObject;
      if (is(json)) return true;
      this.#options.unusable?.(kind, nameOf(json));
      return false;
    });
  }
}
