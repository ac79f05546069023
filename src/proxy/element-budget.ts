// What the Services of one namespace may cost a node: who writes more has fewer of their own, and nobody else's.
import { elementCount, type ServiceRules } from './rule-set.ts';

/** Four Services as large as a Service may be; some 150 MB of a node's memory. */
const mostOfNamespace = 200_000;

const namespaceOf = (service: string): string => service.slice(0, service.indexOf('/'));

interface Use {
  readonly services: Map<string, number>;
  /** Without rules, until others of the namespace have fewer: what they would cost. */
  readonly waiting: Map<string, number>;
  total: number;
}

export class ElementBudget {
  readonly #namespaces = new Map<string, Use>();
  readonly #most: number;

  constructor(most: number = mostOfNamespace) {
    this.#most = most;
  }

  /** The rules, or none where there is no room for them. Undefined: the service is gone. */
  admit(service: string, rules: ServiceRules | undefined): ServiceRules | undefined {
    const namespace = namespaceOf(service);
    const use = this.#namespaces.get(namespace) ?? { services: new Map(), waiting: new Map(), total: 0 };
    this.#namespaces.set(namespace, use);
    use.total -= use.services.get(service) ?? 0;
    use.services.delete(service);
    use.waiting.delete(service);
    const cost = rules?.frontends.reduce((sum, frontend) => sum + elementCount(frontend), 0) ?? 0;
    const fits = use.total + cost <= this.#most;
    if (fits && cost > 0) {
      use.services.set(service, cost);
      use.total += cost;
    } else if (!fits) use.waiting.set(service, cost);
    if (use.services.size + use.waiting.size === 0) this.#namespaces.delete(namespace);
    return fits || rules === undefined ? rules : { service: rules.service, frontends: [], isCut: true };
  }

  /** Services of the same namespace that there is room for now, as many as fit together. */
  fittingBeside(service: string): readonly string[] {
    const use = this.#namespaces.get(namespaceOf(service));
    let room = this.#most - (use?.total ?? 0);
    return [...(use?.waiting ?? [])].flatMap(([one, cost]) => {
      if (cost > room) return [];
      room -= cost;
      return [one];
    });
  }
}
