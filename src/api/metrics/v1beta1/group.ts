// The kinds of metrics.k8s.io/v1beta1: nobody writes them, they are measured.
import type { Json } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import {
  addQuantities,
  formatQuantity,
  type Quantity,
  tryParseQuantity,
  zeroQuantity,
} from '../../../apimachinery/quantity.ts';
import type { ContainerMetrics, NodeMetrics, PodMetrics } from '../../generated/types/metrics-v1beta1.ts';
import { nameCell } from '../../meta/row-cells.ts';

type Usage = Decoded<ContainerMetrics>['usage'];

/** Of what is measured always, as metrics-server's tables show it. */
function cells(object: Decoded<NodeMetrics | PodMetrics>, usages: readonly Usage[]): Json[] {
  const sum = (resource: string): string =>
    formatQuantity(
      usages.reduce<Quantity>(
        (all, usage) => addQuantities(all, tryParseQuantity(usage?.[resource]) ?? zeroQuantity),
        zeroQuantity,
      ),
    );
  return [nameCell(object), sum('cpu'), sum('memory'), object.window ?? '0s'];
}

export const metricsV1beta1: GroupBehaviours<{ nodes: NodeMetrics; pods: PodMetrics }> = {
  nodes: { virtual: true, row: (node) => cells(node, [node.usage]) },
  pods: {
    virtual: true,
    row: (pod) =>
      cells(
        pod,
        (pod.containers ?? []).map(({ usage }) => usage),
      ),
  },
};
