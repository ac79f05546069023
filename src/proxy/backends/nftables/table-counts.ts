// How many rules the table's chains have, and how many elements its maps: by that is found what somebody took from it. Pure, in steps.
import type { Steps } from '../../../base/turns.ts';
import { Pace } from '../../pace.ts';
import { type Fragment, rulesOf } from './fragment.ts';
import type { SharedParts } from './render.ts';
import { baseChains, maps } from './table-shape.ts';

interface TableCounts {
  readonly rules: ReadonlyMap<string, number>;
  readonly elements: ReadonlyMap<string, number>;
}

/** Of the table that these make. What clients of affinity sets there are is the kernel's. */
export function* wantedCounts(
  fragments: Iterable<Fragment>,
  shared: SharedParts,
  clusterCIDR: string,
): Steps<TableCounts> {
  const rules = new Map(baseChains.map((chain) => [chain.name, chain.rules.length]));
  const elements = new Map<string, number>(maps.keys().map((name) => [name, 0]));
  const clusterIPs = new Set<string>();
  const pace = new Pace();
  for (const [name, chain] of shared.chains) rules.set(name, rulesOf(chain, clusterCIDR).length);
  for (const fragment of fragments) {
    for (const [name, of] of fragment.chains) rules.set(name, of.length);
    for (const [name, of] of fragment.elements) elements.set(name, elements.get(name)! + of.size);
    for (const ip of fragment.elements.get('cluster-ips')?.keys() ?? []) clusterIPs.add(ip);
    if (pace.over(1 + fragment.chains.size)) yield;
  }
  // those that services have in common
  elements.set('cluster-ips', clusterIPs.size);
  elements.set('hairpin', shared.hairpins.size);
  return { rules, elements };
}

/** Of a table as nft lists it: one rule a line, and elements between commas. */
export function* listedCounts(text: string): Steps<TableCounts> {
  const rules = new Map<string, number>();
  const elements = new Map<string, number>();
  const pace = new Pace();
  let [kind, name, inElements] = ['', '', false];
  for (const [line] of text.matchAll(/[^\n]+/g)) {
    const begun = /^\t(chain|map|set) (\S+) \{/.exec(line);
    if (begun !== null) {
      [kind, name, inElements] = [begun[1]!, begun[2]!, false];
      (kind === 'chain' ? rules : elements).set(name, 0);
    } else if (kind === 'chain' && /^\t\t(?!type \w+ hook|comment )/.test(line))
      rules.set(name, rules.get(name)! + 1);
    else if (kind !== 'chain' && (inElements || line.startsWith('\t\telements = {'))) {
      inElements = !line.endsWith('}');
      // between two elements, and at the end of a line that is not the last
      const count = line.split(',').length - (line.endsWith(',') ? 1 : 0);
      elements.set(name, elements.get(name)! + count);
    }
    if (pace.over()) yield;
  }
  return { rules, elements };
}

const lessOf = (
  what: string,
  wanted: ReadonlyMap<string, number>,
  found: ReadonlyMap<string, number>,
): string[] =>
  [...wanted].flatMap(([name, count]) => {
    const there = found.get(name) ?? 0;
    return there < count ? [`${count - there} of ${count} ${what} ${name}`] : [];
  });

/** In words, undefined when nothing is missing. What somebody added stays until the table is next written. */
export function missingFrom(wanted: TableCounts, found: TableCounts): string | undefined {
  const missing = [
    ...lessOf('rules of', wanted.rules, found.rules),
    ...lessOf('elements of', wanted.elements, found.elements),
  ];
  return missing.length === 0 ? undefined : missing.join(', ');
}
