// The machine's tables of a fabric, from the server's side: `up` writes them, and knows what nobody else does. Their text as it was
// last seen is what they are written anew from when somebody deletes them.
import type { Logger } from '../component-base/logger.ts';
import type { KeptTables } from '../os/kept-tables.ts';
import type { PacketFilter } from '../os/packet-filter.ts';
import { cableGuardTable } from './cable-guard.ts';
import { fabricTable } from './fabric-plan.ts';

export interface FabricTables {
  /** Sees what is there now; true when the cables' guard is. */
  look(): Promise<boolean>;
  stop(): void;
}

/** What is lost without the table. */
const purposes = (clusterName: string): ReadonlyMap<string, string> =>
  new Map([
    [
      `ip ${fabricTable(clusterName)}`,
      'nodes and pods do not reach the outside, and are not kept from this machine',
    ],
    [cableGuardTable(clusterName), 'nothing keeps nodes from taking addresses of others'],
  ]);

export function watchFabricTables(options: {
  readonly clusterName: string;
  readonly packetFilter: PacketFilter;
  readonly tables: KeptTables;
  readonly log: Logger;
  /** Their sets are to be filled. */
  readonly onWritten: () => void;
}): FabricTables {
  const { clusterName, log, packetFilter } = options;
  const seen = new Map<string, { readonly outline: string; readonly text: string }>();
  const said = new Set<string>();
  const own = purposes(clusterName);

  async function writeAnew(): Promise<void> {
    for (const [name, { text }] of seen)
      await packetFilter.apply(`add table ${name}\ndelete table ${name}\n${text}`);
    options.onWritten();
  }

  function missing(table: string, without: string): void {
    if (!said.has(table) && !seen.has(table))
      log.warn({ table }, `is not there: ${without}; "porthole up" of this cluster writes it`);
    said.add(table);
  }

  async function look(): Promise<boolean> {
    const outlines = await packetFilter.outlines();
    for (const [name, without] of own) {
      const outline = outlines.get(name);
      if (outline === undefined) missing(name, without);
      else if (outline.isWhole && seen.get(name)?.outline !== outline.text) {
        const text = await packetFilter.table(name);
        if (text !== undefined) seen.set(name, { outline: outline.text, text });
      }
    }
    return outlines.has(cableGuardTable(clusterName));
  }

  const forget = options.tables.keep({ written: () => [...seen.keys()], writeAnew });
  return { look, stop: forget };
}
