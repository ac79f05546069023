// In what a cluster that is there differs from what `up` is asked for: pure.
import type { PlannedNode } from './cluster-plan.ts';
import type { ClusterState, RuntimeKind } from './cluster-state.ts';

export interface AskedFor {
  readonly nodes: readonly PlannedNode[];
  readonly runtime: 'auto' | RuntimeKind;
  readonly bindAddress?: string | undefined;
  readonly registryConfig?: string | undefined;
  readonly registry?: number | true | undefined;
  readonly loadBalancer?: boolean | undefined;
}

const listed = (nodes: readonly PlannedNode[]): string =>
  nodes
    .map(({ name, windowsBuild }) => [name, windowsBuild ?? ''].join(' ').trim())
    .sort()
    .join(', ');

const kinds = (nodes: readonly PlannedNode[]): string =>
  JSON.stringify(nodes.map(({ name, os, windowsBuild }) => [name, os, windowsBuild]).sort());

const isTainted = (nodes: readonly PlannedNode[]): boolean =>
  nodes.some((node) => node.windowsTaint === true);

/** Of the first that differs; undefined: all is the same. */
export function differenceOf(
  has: Pick<
    ClusterState,
    'nodes' | 'madeWith' | 'runtime' | 'bindAddress' | 'registryConfig' | 'registryPort' | 'loadBalancer'
  >,
  asked: AskedFor,
): string | undefined {
  const { bindAddress, registryConfig } = asked;
  if (bindAddress !== undefined && bindAddress !== has.bindAddress)
    return `and its server listens elsewhere (--bind-address ${has.bindAddress ?? 'was not given'})`;
  if (registryConfig !== undefined && registryConfig !== has.registryConfig)
    return `and its nodes look elsewhere how to ask registries (--registry-config ${has.registryConfig ?? 'was not given'})`;
  const { registryPort = asked.registry } = has;
  if (typeof asked.registry === 'number' && asked.registry !== registryPort)
    return `and its registry is another one (--registry ${registryPort})`;
  const balances = has.loadBalancer ?? true;
  if (asked.loadBalancer !== undefined && asked.loadBalancer !== balances)
    return `and it ${balances ? 'gives' : 'does not give'} Services of type LoadBalancer their addresses (--${balances ? '' : 'no-'}load-balancer)`;
  const wanted = asked.nodes;
  // Who says again what the cluster was made with does not want to lose the nodes that were added since.
  const same = [has.madeWith ?? [], has.nodes].find((nodes) => kinds(wanted) === kinds(nodes));
  if (same === undefined) return `with other nodes (${listed(has.nodes)})`;
  if (isTainted(wanted) !== isTainted(same))
    return `and its Windows nodes are ${isTainted(same) ? 'tainted (--windows-taint was given)' : 'not tainted (--windows-taint was not given)'}`;
  if (asked.runtime !== 'auto' && asked.runtime !== has.runtime)
    return `with another runtime (--runtime ${has.runtime})`;
  return undefined;
}
