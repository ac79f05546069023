// Whether a node fits a node selector: nodeSelector, required node affinity, PersistentVolume affinity.
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PreferredSchedulingTerm,
} from '../api/generated/types/core-v1.ts';
import {
  matchesValue,
  type Operator,
  objectOperators,
  type Requirement,
} from '../apimachinery/label-requirement.ts';
import { matchesSet } from '../apimachinery/label-selector.ts';
import type { Labels } from '../apimachinery/labels.ts';
import { type Row, SelectorTable } from '../apimachinery/selector-table.ts';

/** What is matched: labels, and the name for matchFields. */
export interface NodeIdentity {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

/** Those of labels, and two that only nodes know. */
const nodeOperators: Readonly<Record<string, Operator>> = Object.assign(
  Object.create(null),
  objectOperators,
  {
    Gt: 'gt',
    Lt: 'lt',
  },
);

/** What is no operator matches nothing. */
function matchesRequirement(
  { operator, values = [] }: NodeSelectorRequirement,
  value: string | undefined,
): boolean {
  const known = nodeOperators[operator];
  return known !== undefined && matchesValue(known, values, value);
}

/** All requirements of one term; a term without any matches no node. */
export function matchesNodeSelectorTerm(term: NodeSelectorTerm, node: NodeIdentity): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    expressions.every((r) =>
      matchesRequirement(r, Object.hasOwn(labels, r.key) ? labels[r.key] : undefined),
    ) && fields.every((r) => r.key === 'metadata.name' && matchesRequirement(r, node.metadata.name))
  );
}

/** The name among the labels; no label is called so. */
const nameField = '.metadata.name';

/** As `matchesNodeSelectorTerm` says it. */
function rowOfTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): Row {
  if (matchExpressions.length === 0 && matchFields.length === 0) return undefined;
  if (matchFields.some(({ key }) => key !== 'metadata.name')) return undefined;
  const row: Requirement[] = [];
  for (const { key, operator, values = [] } of matchExpressions.concat(matchFields)) {
    const known = nodeOperators[operator];
    if (known === undefined) return undefined;
    row.push({ key, operator: known, values });
  }
  for (let at = matchExpressions.length; at < row.length; at++) row[at] = { ...row[at]!, key: nameField };
  return row;
}

/** Fewer are tried one after the other: that is faster. */
const fewTerms = 16;
const tables = new WeakMap<readonly NodeSelectorTerm[] | readonly PreferredSchedulingTerm[], SelectorTable>();

/** Of terms by the thousand, read once for each list that nobody changes: each node is asked about all of them. */
function tableOf(
  list: readonly NodeSelectorTerm[] | readonly PreferredSchedulingTerm[],
  terms: () => readonly NodeSelectorTerm[],
): SelectorTable {
  let table = tables.get(list);
  if (table === undefined) {
    table = new SelectorTable(terms().map(rowOfTerm));
    tables.set(list, table);
  }
  return table;
}

const labelsWithName = ({ metadata }: NodeIdentity): Labels => ({
  ...metadata.labels,
  [nameField]: metadata.name,
});

/** Terms are ORed. */
export function matchesNodeSelector({ nodeSelectorTerms: terms }: NodeSelector, node: NodeIdentity): boolean {
  if (terms.length <= fewTerms) return terms.some((term) => matchesNodeSelectorTerm(term, node));
  return tableOf(terms, () => terms).count(labelsWithName(node)) > 0;
}

/** What the terms that match the node weigh together. */
export function preferenceOf(preferred: readonly PreferredSchedulingTerm[], node: NodeIdentity): number {
  let sum = 0;
  if (preferred.length <= fewTerms) {
    for (const { preference, weight } of preferred)
      if (matchesNodeSelectorTerm(preference, node)) sum += weight;
    return sum;
  }
  const table = tableOf(preferred, () => preferred.map(({ preference }) => preference));
  const differing = new Set(table.differing(labelsWithName(node)).rows);
  for (const [at, { weight }] of preferred.entries()) if (table.base[at] !== differing.has(at)) sum += weight;
  return sum;
}

/** `spec.nodeSelector` and the required node affinity of a pod. */
export function matchesRequiredNodeAffinity(pod: Pod, node: Node | NodeIdentity): boolean {
  const { nodeSelector } = pod.spec;
  if (nodeSelector !== undefined && !matchesSet(nodeSelector, node.metadata.labels)) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}
