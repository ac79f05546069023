// Rules of services in memory, and what they would do with a packet: a data plane for tests.
import type { FlowSelector } from '../../../os/packet-filter.ts';
import type { ProxyBackend, RuleChange } from '../../proxy-backend.ts';
import { frontendKey, type ServiceRules } from '../../rule-set.ts';
import { frontendFor, type Outcome, type WalkedPacket, type WalkerNode, walk } from './packet-walk.ts';

export type Sent =
  | { readonly kind: 'redirected'; readonly to: string; readonly masqueraded: boolean }
  | Exclude<Outcome, { kind: 'redirected' }>;

export class MemoryBackend implements ProxyBackend {
  readonly #node: WalkerNode;
  readonly #services = new Map<string, ServiceRules>();
  readonly #keepers = new Set<() => Promise<void>>();
  readonly forgotten: FlowSelector[] = [];
  /** Where clients went last. */
  readonly #clients = new Map<string, string>();
  #turn = 0;
  /** False until the first `replace`, and when somebody took what was written. */
  #isThere = false;

  constructor(node: WalkerNode) {
    this.#node = node;
  }

  async change(changes: readonly RuleChange[]): Promise<void> {
    if (!this.#isThere) throw new Error('the rules that would change are not there');
    for (const { service, after } of changes) {
      if (after === undefined) this.#services.delete(service);
      else this.#services.set(service, after);
    }
  }

  async replace(services: Iterable<ServiceRules>): Promise<void> {
    this.#services.clear();
    for (const rules of services) this.#services.set(rules.service, rules);
    this.#isThere = true;
  }

  async forgetFlows(flows: readonly FlowSelector[]): Promise<void> {
    this.forgotten.push(...flows);
  }

  keep(lost: () => Promise<void>): () => void {
    this.#keepers.add(lost);
    return () => this.#keepers.delete(lost);
  }

  /** As somebody else who takes all that was written. */
  lose(): void {
    this.#services.clear();
    this.#isThere = false;
  }

  /** The look at what is there, which other data planes have by the clock. */
  async look(): Promise<void> {
    if (!this.#isThere) for (const lost of this.#keepers) await lost();
  }

  services(): readonly ServiceRules[] {
    return [...this.#services.values()];
  }

  /** One endpoint of those that it may go to, each in its turn; a client with affinity keeps its own. */
  send(packet: WalkedPacket): Sent {
    const outcome = walk(this.services(), packet, this.#node);
    if (outcome.kind !== 'redirected') return outcome;
    const { masqueraded, to } = outcome;
    const frontend = frontendFor(this.services(), packet, this.#node)!;
    const client = `${frontendKey(frontend)} ${packet.from}`;
    const known = frontend.affinitySeconds > 0 ? this.#clients.get(client) : undefined;
    const chosen = known !== undefined && to.includes(known) ? known : to[this.#turn++ % to.length]!;
    this.#clients.set(client, chosen);
    return { kind: 'redirected', to: chosen, masqueraded };
  }
}
