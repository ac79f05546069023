// The packet filter of one network namespace, as a port. Rules are nftables text: the one language in which maps
// with concatenated keys can be written (its JSON form cannot).

export interface FlowSelector {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  /** What the client sent to. */
  readonly destination?: string;
  readonly destinationPort?: number;
  /** Where the flow was redirected to. */
  readonly redirectedTo?: string;
}

export class PacketFilterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PacketFilterError';
  }
}

/** A table without what its sets and maps hold. */
export interface TableOutline {
  /** It has chains, and each of them has rules: none of ours is without. */
  readonly isWhole: boolean;
  readonly text: string;
}

export interface PacketFilter {
  /** One transaction: all of it or nothing. Calls are applied in the order they are made. */
  apply(text: string): Promise<void>;
  /** Names of tables, as `ip porthole-x`. */
  tables(): Promise<readonly string[]>;
  /** All tables by name; cheap, however much their sets and maps hold. */
  outlines(): Promise<ReadonlyMap<string, TableOutline>>;
  /** The text of a table, undefined when there is none. Slow for a large one. */
  table(name: string): Promise<string | undefined>;
  /** Ends tracked flows, so that their next packet is judged anew. */
  forgetFlows(flows: readonly FlowSelector[]): Promise<void>;
  close(): Promise<void>;
}
