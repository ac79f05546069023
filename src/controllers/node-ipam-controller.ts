// Gives each node its own block of pod addresses.
import { nodes } from '../api/generated/resources.ts';
import type { Node } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { type Cidr, formatCidr } from '../base/ip.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { parseRange } from './node/cidr-blocks.ts';
import { NodeBlocks } from './node/node-blocks.ts';

export interface NodeIpamOptions {
  /** One, or one of each family. */
  readonly clusterCIDRs: readonly string[];
  /** Default 24. */
  readonly nodeCIDRMaskSizeIPv4?: number;
  /** Default 64. */
  readonly nodeCIDRMaskSizeIPv6?: number;
}

const cidrsOf = (node: Node): readonly string[] => {
  const { podCIDR, podCIDRs } = node.spec ?? {};
  return podCIDRs !== undefined && podCIDRs.length > 0
    ? podCIDRs
    : podCIDR === undefined || podCIDR === ''
      ? []
      : [podCIDR];
};

/** Throws Error where no block of that size fits. */
function blockPrefix(cluster: Cidr, options: NodeIpamOptions): number {
  const size =
    cluster.family === 4 ? (options.nodeCIDRMaskSizeIPv4 ?? 24) : (options.nodeCIDRMaskSizeIPv6 ?? 64);
  if (size >= cluster.bits && size <= (cluster.family === 4 ? 32 : 128)) return size;
  throw new Error(`nodes can't have blocks of /${size} in ${formatCidr(cluster)}`);
}

export function nodeIpamController(options: NodeIpamOptions): Controller {
  const clusters = options.clusterCIDRs.map(parseRange);
  const pools = clusters.map((cluster) => ({ cluster, prefix: blockPrefix(cluster, options) }));
  let blocks = new NodeBlocks(pools);

  return defineController({
    name: 'node-ipam-controller',
    queue: 'cidrallocator_node',
    serviceAccount: 'node-controller',
    for: nodes,
    access: [may('patch', nodes), mayRecordEvents],
    watches: [
      // Whatever nodes have is known at each moment: to look at all of them for each new one costs more the more there are.
      watching(nodes, (node, { type }) => {
        if (type === 'deleted') blocks.left(node.metadata.name);
        else blocks.saw(node.metadata.name, cidrsOf(node));
        return [];
      }),
    ],
    // One at a time: two that choose at once would choose the same.
    concurrency: 1,
    start(context) {
      blocks = new NodeBlocks(pools);
      for (const node of context.read(nodes).list()) blocks.saw(node.metadata.name, cidrsOf(node));
      return undefined;
    },
    async reconcile({ name }, context) {
      const node = context.read(nodes).get(name);
      if (node === undefined || blocks.has(name)) return undefined;
      const given = blocks.give(name);
      if ('isFull' in given) {
        const message = `Node ${name} status is now: CIDRNotAvailable`;
        context.events.event(referenceTo(nodes, node), 'Normal', 'CIDRNotAvailable', message);
        throw new Error(
          `CIDR allocation failed; there are no remaining CIDRs left to allocate in range ${formatCidr(given.isFull)}`,
        );
      }
      try {
        const spec = { podCIDR: given.blocks[0], podCIDRs: given.blocks };
        const body = { metadata: { uid: node.metadata.uid }, spec };
        await context.write.patch(nodes, { name }, { type: 'strategic', body }, { unread: true });
      } catch (error) {
        // What was refused is not stored. Any other failure may have come after the write: it is written again, as it was.
        if (isStatusError(error) && error.code < 500) blocks.takeBack(name);
        else blocks.doubt(name);
        throw error;
      }
      return undefined;
    },
  });
}
