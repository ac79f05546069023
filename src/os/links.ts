// Network interfaces, addresses, routes and neighbours of one network namespace, as a port.

export interface RouteChange {
  /** A prefix, an address, or `default`. */
  readonly to: string;
  readonly via?: string;
  readonly dev?: string;
  /** Packets are refused instead of sent on; without `via` and `dev`. */
  readonly unreachable?: boolean;
  /** The next hop need not be in a connected subnet. */
  readonly onlink?: boolean;
  readonly scope?: 'link';
  readonly source?: string;
  /** Marks the owner of a route, so that stale ones can be found. */
  readonly protocol?: number;
}

export type LinkChange =
  | { readonly do: 'addBridge'; readonly name: string; readonly mac?: string }
  | {
      readonly do: 'addVeth';
      readonly name: string;
      readonly mac?: string;
      readonly mtu?: number;
      readonly peer: {
        readonly name: string;
        /** Path or name of the namespace it is placed in. */
        readonly netns?: string;
        readonly mac?: string;
        readonly mtu?: number;
      };
    }
  | { readonly do: 'deleteLink'; readonly name: string }
  | {
      readonly do: 'setLink';
      readonly name: string;
      readonly up?: boolean;
      readonly master?: string;
      readonly mac?: string;
      readonly mtu?: number;
    }
  | {
      readonly do: 'replaceAddress';
      readonly name: string;
      /** With prefix length. */
      readonly address: string;
      /** The kernel adds no route to the prefix. */
      readonly noPrefixRoute?: boolean;
      /** Nothing that leaves the machine has it as its source, unless a program says so. Of an address that is new. */
      readonly scope?: 'host';
    }
  | { readonly do: 'deleteAddress'; readonly name: string; readonly address: string }
  | ({ readonly do: 'replaceRoute' } & RouteChange)
  | ({ readonly do: 'deleteRoute' } & RouteChange)
  | { readonly do: 'replaceNeighbour'; readonly address: string; readonly mac: string; readonly dev: string };

export interface LinkInfo {
  readonly name: string;
  readonly index: number;
  readonly mac: string;
  readonly mtu: number;
  readonly up: boolean;
  readonly master?: string;
  /** IPv4 with prefix length. */
  readonly addresses: readonly string[];
}

export interface RouteInfo {
  readonly to: string;
  readonly via?: string;
  readonly dev?: string;
  readonly unreachable: boolean;
  readonly protocol: string;
}

export class LinksError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LinksError';
  }
}

export interface Links {
  /**
   * Applies in order and throws LinksError at the first that fails; what came before it stays. With `keepGoing` it applies all
   * it can, and either throws LinksError that names all that failed (`report`: what is left does not depend on it) or says
   * nothing (`silently`: for taking down what may be half there).
   */
  apply(
    changes: readonly LinkChange[],
    options?: { readonly keepGoing?: 'report' | 'silently' },
  ): Promise<void>;
  links(): Promise<readonly LinkInfo[]>;
  /** IPv4 routes of the main table. */
  routes(options?: { readonly protocol?: number }): Promise<readonly RouteInfo[]>;
  /** Calls back on each change of links, addresses or routes until the signal aborts. */
  watch(changed: () => void, signal: AbortSignal): void;
}
