// Whether a node fits a node selector: nodeSelector, required node affinity, PersistentVolume affinity.
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
} from '../api/generated/types/core-v1.ts';
import { matchesValue, type Operator, objectOperators } from '../apimachinery/label-requirement.ts';
import { matchesSet } from '../apimachinery/label-selector.ts';

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

/** Terms are ORed. */
const matchesNodeSelector = (selector: NodeSelector, node: NodeIdentity): boolean =>
  selector.nodeSelectorTerms.some((term) => matchesNodeSelectorTerm(term, node));

/** `spec.nodeSelector` and the required node affinity of a pod. */
export function matchesRequiredNodeAffinity(pod: Pod, node: Node | NodeIdentity): boolean {
  const { nodeSelector } = pod.spec;
  if (nodeSelector !== undefined && !matchesSet(nodeSelector, node.metadata.labels)) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}
