// A packet filter that remembers what it was told, and knows of tables that they are there.
import {
  type FlowSelector,
  type PacketFilter,
  PacketFilterError,
  type TableOutline,
} from '../packet-filter.ts';

export interface FakePacketFilter extends PacketFilter {
  readonly applied: string[];
  readonly forgotten: FlowSelector[];
  /** The next `apply` throws. */
  failNext(message: string): void;
  /** The next `apply` gets no answer, and nobody knows whether it was done. */
  hangNext(): void;
  /** As `nft flush ruleset` of somebody else. */
  lose(): void;
  /** As `nft flush table`. */
  empty(name: string): void;
}

export function createFakePacketFilter(): FakePacketFilter {
  const applied: string[] = [];
  const forgotten: FlowSelector[] = [];
  const there = new Map<string, TableOutline>();
  let failure: Error | undefined;
  return {
    lose: () => there.clear(),
    empty: (name) => there.set(name, { isWhole: false, text: '' }),
    applied,
    forgotten,
    failNext: (message) => {
      failure = new PacketFilterError(message);
    },
    hangNext: () => {
      failure = new Error('nft did not answer');
    },
    apply: async (text) => {
      const error = failure;
      failure = undefined;
      if (error !== undefined) throw error;
      applied.push(text);
      for (const [, name] of text.matchAll(/^delete table (.+)$/gm)) there.delete(name!);
      for (const [, name] of text.matchAll(/^table (.+) \{$/gm)) there.set(name!, { isWhole: true, text });
    },
    tables: async () => [...there.keys()],
    outlines: async () => new Map(there),
    table: async (name) => there.get(name)?.text,
    forgetFlows: async (flows) => void forgotten.push(...flows),
    close: async () => undefined,
  };
}
