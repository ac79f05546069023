// A packet filter that remembers what it was told.
import { type FlowSelector, type PacketFilter, PacketFilterError } from '../packet-filter.ts';

export interface FakePacketFilter extends PacketFilter {
  readonly applied: string[];
  readonly forgotten: FlowSelector[];
  /** The next `apply` throws. */
  failNext(message: string): void;
}

export function createFakePacketFilter(): FakePacketFilter {
  const applied: string[] = [];
  const forgotten: FlowSelector[] = [];
  let failure: string | undefined;
  return {
    applied,
    forgotten,
    failNext: (message) => {
      failure = message;
    },
    apply: async (text) => {
      const message = failure;
      failure = undefined;
      if (message !== undefined) throw new PacketFilterError(message);
      applied.push(text);
    },
    tables: async () => [],
    table: async () => undefined,
    forgetFlows: async (flows) => void forgotten.push(...flows),
    close: async () => undefined,
  };
}
