// Tables of the packet filter that somebody else deleted, or took a part of (`nft flush ruleset`, a restart of the
// machine's own firewall) are written anew: one look for all owners of a namespace, as often as kube-proxy syncs.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import type { PacketFilter } from './packet-filter.ts';

interface LostTable {
  readonly table: string;
  /** Of the log's sentence: `lost rules`. */
  readonly what: string;
}

export interface TableOwner {
  /** Those that are written by now, each with rules. */
  written(): readonly string[];
  /** For who knows more of what is in them: what is missing though no chain is empty. */
  missing?(): Promise<LostTable | undefined>;
  /** All of them as a whole; resolves when they are there. */
  writeAnew(): Promise<void>;
}

export interface KeptTables {
  /** From the next look on; the result ends it: what the owner deletes then stays deleted. */
  keep(owner: TableOwner): () => void;
  stop(): Promise<void>;
}

export interface KeptTablesOptions {
  readonly packetFilter: Pick<PacketFilter, 'outlines'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** As kube-proxy's. Default 30,000. */
  readonly syncPeriodMs?: number;
}

export function keepTables(options: KeptTablesOptions): KeptTables {
  const { clock, log, packetFilter } = options;
  const owners = new Set<TableOwner>();
  const stopped = new AbortController();

  async function restore(owner: TableOwner, lost: readonly LostTable[]): Promise<void> {
    try {
      await owner.writeAnew();
      for (const { table, what } of lost) log.warn({ table }, `the table ${table} ${what}; written anew`);
    } catch (error) {
      for (const { table, what } of lost)
        log.error({ error, table }, `the table ${table} ${what} and could not be written anew; trying again`);
    }
  }

  /** One that can't be listed keeps nobody else's from being looked at. */
  async function missingOf(owner: TableOwner): Promise<readonly LostTable[]> {
    try {
      return [(await owner.missing?.()) ?? []].flat();
    } catch (error) {
      log.error({ error }, 'what a table of the packet filter holds could not be listed; trying again');
      return [];
    }
  }

  async function look(): Promise<void> {
    // before: what is written while the tables are listed may be missing from the list
    const written = new Map([...owners].map((owner) => [owner, owner.written()]));
    const outlines = await packetFilter.outlines();
    for (const [owner, tables] of written) {
      const lost = tables
        .filter((table) => outlines.get(table)?.isWhole !== true)
        .map((table): LostTable => ({ table, what: outlines.has(table) ? 'lost rules' : 'was gone' }));
      if (lost.length === 0 && tables.length > 0) lost.push(...(await missingOf(owner)));
      if (lost.length > 0 && owners.has(owner) && !stopped.signal.aborted) await restore(owner, lost);
    }
  }

  async function run(): Promise<void> {
    for (;;) {
      await clock.sleep(options.syncPeriodMs ?? 30_000, stopped.signal);
      await look().catch((error: unknown) =>
        log.error({ error }, 'the tables of the packet filter could not be listed; trying again'),
      );
    }
  }

  const running = run().catch((error: unknown) => {
    if (!stopped.signal.aborted) throw error;
  });
  return {
    keep: (owner) => {
      owners.add(owner);
      return () => owners.delete(owner);
    },
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
