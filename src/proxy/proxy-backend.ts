// What a data plane does for the proxy, as a port. It is told what Services shall do, never how: `nftables` writes elements of maps,
// HNS would make load balancers, OVN rows of its database.
import type { Steps } from '../base/turns.ts';
import type { FlowSelector } from '../os/packet-filter.ts';
import type { ServiceRules } from './rule-set.ts';

/** Of one service. No two services have a frontend with the same key, before or after: see `held-rules.ts`. */
export interface RuleChange {
  readonly service: string;
  readonly before: ServiceRules | undefined;
  readonly after: ServiceRules | undefined;
}

export interface ProxyBackend {
  /**
   * From what the calls before made. Where the data plane can, all of it at once; what one service gives up another may take.
   * Rejects when something is not as it was written: then nobody knows what there is until `replace`.
   */
  change(changes: readonly RuleChange[]): Promise<void>;
  /** All there shall be, in the place of whatever there is: what a former process left, and what others wrote. */
  replace(services: Iterable<ServiceRules>): Promise<void>;
  /** Ends flows that go on to where nobody is any more. */
  forgetFlows(flows: readonly FlowSelector[]): Promise<void>;
  /** Looks now and then whether all that was written is there; `lost` writes it anew. Returns the function that ends it. */
  keep(lost: () => Promise<void>): () => void;
}

/** Does work that is long with pauses: the kubelet answers in the same process. */
export type InSteps = <T>(steps: Steps<T>) => Promise<T>;
