// Whether a node fits a node selector: nodeSelector, required node affinity, PersistentVolume affinity.

import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
} from '../api/generated/types/core-v1.ts';
import { matchesOperator } from '../apimachinery/label-selector.ts';

/** What is matched: labels, and the name for matchFields. */
export interface NodeIdentity {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
  };
}

function matchesRequirement(requirement: NodeSelectorRequirement, value: string | undefined): boolean {
  const { operator, values = [] } = requirement;
  if (operator !== 'Gt' && operator !== 'Lt') return matchesOperator(operator, value, values);
  const [bound, actual] = [integer(values[0]), integer(value)];
  if (bound === undefined || actual === undefined) return false;
  return operator === 'Gt' ? actual > bound : actual < bound;
}
const integer = (text: string | undefined): bigint | undefined =>
  text !== undefined && /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;

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

/** Terms are ORed. */
const matchesNodeSelector = (selector: NodeSelector, node: NodeIdentity): boolean =>
  selector.nodeSelectorTerms.some((term) => matchesNodeSelectorTerm(term, node));

/** `spec.nodeSelector` and the required node affinity of a pod. */
export function matchesRequiredNodeAffinity(pod: Pod, node: Node | NodeIdentity): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}
