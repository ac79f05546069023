// From the rules that services want to those that they have, as differences: pure, in steps. One service holds a frontend;
// others that want it wait until it is free.
import type { Steps } from '../base/turns.ts';
import { Pace } from './pace.ts';
import type { RuleChange } from './proxy-backend.ts';
import { type Frontend, frontendKey, type ServiceRules } from './rule-set.ts';

export class HeldRules {
  readonly #wanted = new Map<string, ServiceRules>();
  readonly #held = new Map<string, ServiceRules>();
  readonly #owners = new Map<string, string>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #dirty = new Set<string>();

  /** Undefined: the service is gone. Seen in the next `changes`. */
  want(service: string, rules: ServiceRules | undefined): void {
    if (rules === undefined || rules.frontends.length === 0) this.#wanted.delete(service);
    else this.#wanted.set(service, rules);
    this.#dirty.add(service);
  }

  /** As of the last `changes`. */
  all(): IterableIterator<ServiceRules> {
    return this.#held.values();
  }

  /** What is different since the last time: of those that want something else, and those that may have what these gave up. */
  *changes(): Steps<RuleChange[]> {
    for (const service of this.#dirty)
      for (const freed of yield* this.#release(service)) this.#dirty.add(freed);
    const services = [...this.#dirty];
    this.#dirty.clear();
    const changes: RuleChange[] = [];
    for (const service of services) {
      const before = this.#held.get(service);
      const wanted = this.#wanted.get(service);
      const after = wanted === undefined ? undefined : yield* this.#claim(wanted);
      if (after === undefined) this.#held.delete(service);
      else this.#held.set(service, after);
      if (before !== after) changes.push({ service, before, after });
    }
    return changes;
  }

  /** The rules without frontends that another service holds; undefined when none are left. */
  *#claim(rules: ServiceRules): Steps<ServiceRules | undefined> {
    const pace = new Pace();
    const frontends: Frontend[] = [];
    for (const frontend of rules.frontends) {
      const key = frontendKey(frontend);
      const owner = this.#owners.get(key) ?? rules.service;
      if (owner === rules.service) {
        this.#owners.set(key, owner);
        frontends.push(frontend);
      } else this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(rules.service));
      if (pace.over()) yield;
    }
    if (frontends.length === 0) return undefined;
    return frontends.length === rules.frontends.length ? rules : { ...rules, frontends };
  }

  /** Services that may have what `service` gave up. */
  *#release(service: string): Steps<Set<string>> {
    const freed = new Set<string>();
    const [held, wanted] = [this.#held.get(service), this.#wanted.get(service)];
    if (held === undefined || held === wanted) return freed;
    const pace = new Pace();
    const kept = new Set<string>();
    for (const frontend of wanted?.frontends ?? []) {
      kept.add(frontendKey(frontend));
      if (pace.over()) yield;
    }
    for (const frontend of held.frontends) {
      if (pace.over()) yield;
      const key = frontendKey(frontend);
      if (kept.has(key)) continue;
      this.#owners.delete(key);
      for (const waiting of this.#waiting.get(key) ?? []) freed.add(waiting);
      this.#waiting.delete(key);
    }
    return freed;
  }
}
