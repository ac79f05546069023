// Rules of services as a table of the node's packet filter: what changed, in one transaction, without reading back.
import type { Steps } from '../../../base/turns.ts';
import type { FlowSelector } from '../../../os/packet-filter.ts';
import { inStepsBy } from '../../pace.ts';
import type { InSteps, ProxyBackend, RuleChange } from '../../proxy-backend.ts';
import type { ServiceRules } from '../../rule-set.ts';
import type { BackendOptions } from '../backend-options.ts';
import { type Fragment, type FragmentContext, fragmentOf } from './fragment.ts';
import { renderTable, type SharedParts, TableChange } from './render.ts';
import { listedCounts, missingFrom, wantedCounts } from './table-counts.ts';
import { TableLooks } from './table-looks.ts';
import { table } from './table-shape.ts';

/** Each is a process: beyond that all flows are judged anew by their next packet. */
const mostFlows = 200;

export class NftablesBackend implements ProxyBackend {
  readonly #options: BackendOptions;
  readonly #inSteps: InSteps;
  readonly #looks: TableLooks;
  /** Of each service that has rules. */
  readonly #fragments = new Map<string, Fragment>();
  readonly #shared: SharedParts = { chains: new Map(), hairpins: new Map() };
  /** Of services by the names of their ports. */
  readonly #affinityIds = new Map<string, Map<string, number>>();
  readonly #context: FragmentContext;
  #nextId = 1;
  /** What the fragments say is in the kernel. */
  #isWritten = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: BackendOptions) {
    this.#options = options;
    this.#inSteps = options.inSteps ?? inStepsBy(options.clock);
    this.#looks = new TableLooks(options);
    this.#context = {
      clusterCIDR: options.clusterCIDR,
      affinityId: (service, portName) => {
        const ids = this.#affinityIds.get(service) ?? new Map<string, number>();
        const id = ids.get(portName) ?? this.#nextId++;
        this.#affinityIds.set(service, ids.set(portName, id));
        return id;
      },
    };
  }

  change(changes: readonly RuleChange[]): Promise<void> {
    return this.#write(() => this.#changeText(changes));
  }

  replace(services: Iterable<ServiceRules>): Promise<void> {
    return this.#write(() => this.#wholeText(services));
  }

  forgetFlows(flows: readonly FlowSelector[]): Promise<void> {
    return this.#options.packetFilter.forgetFlows(flows.length > mostFlows ? [{ protocol: 'udp' }] : flows);
  }

  keep(lost: () => Promise<void>): () => void {
    return this.#options.tables.keep({
      written: () => (this.#isWritten ? [table] : []),
      missing: () => this.#missing(),
      writeAnew: lost,
    });
  }

  /** One after the other: what a look compares is what was written before it. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #write(textOf: () => Steps<string>): Promise<void> {
    return this.#inTurn(async () => {
      try {
        const text = await this.#inSteps(textOf());
        if (text !== '') await this.#options.packetFilter.apply(text);
        this.#isWritten = true;
      } catch (error) {
        this.#isWritten = false;
        throw error;
      }
    });
  }

  async #missing(): Promise<{ table: string; what: string } | undefined> {
    const what = await this.#looks.missing(this.#fragments.values(), () => this.#inTurn(() => this.#look()));
    return what === undefined ? undefined : { table, what: `lost ${what}` };
  }

  async #look(): Promise<{ missing: string | undefined; bytes: number }> {
    const { clusterCIDR, packetFilter } = this.#options;
    const text = this.#isWritten ? await packetFilter.table(table) : undefined;
    // without a table there is nothing to compare: that is seen by its name
    if (text === undefined) return { missing: undefined, bytes: 0 };
    const wanted = await this.#inSteps(wantedCounts(this.#fragments.values(), this.#shared, clusterCIDR));
    return { missing: missingFrom(wanted, await this.#inSteps(listedCounts(text))), bytes: text.length };
  }

  *#wholeText(services: Iterable<ServiceRules>): Steps<string> {
    this.#fragments.clear();
    const { chains, hairpins } = this.#shared;
    chains.clear();
    hairpins.clear();
    for (const rules of services) {
      const fragment = yield* fragmentOf(rules, this.#context);
      this.#fragments.set(rules.service, fragment);
      for (const [name, chain] of fragment.sharedChains) chains.set(name, chain);
      for (const key of fragment.elements.get('hairpin')?.keys() ?? [])
        hairpins.set(key, (hairpins.get(key) ?? 0) + 1);
      yield;
    }
    for (const service of this.#affinityIds.keys())
      if (!this.#fragments.has(service)) this.#affinityIds.delete(service);
    return yield* renderTable(this.#fragments.values(), this.#options.clusterCIDR);
  }

  *#changeText(changes: readonly RuleChange[]): Steps<string> {
    const text = new TableChange(this.#shared, this.#options.clusterCIDR);
    for (const { service, after } of changes) {
      const before = this.#fragments.get(service);
      const now = after === undefined ? undefined : yield* fragmentOf(after, this.#context);
      if (now === undefined) {
        this.#fragments.delete(service);
        this.#affinityIds.delete(service);
      } else this.#fragments.set(service, now);
      yield* text.replace(before, now);
    }
    return yield* text.text();
  }
}
