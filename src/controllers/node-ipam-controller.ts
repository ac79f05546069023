// Gives each node its own block of pod addresses.
import { events, nodes } from '../api/generated/resources.ts';
import type { Node } from '../api/generated/types/core-v1.ts';
import { referenceTo } from '../client/event-recorder.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { type CidrRange, cidrText, freeBlock, parseCidr } from './node/cidr-blocks.ts';

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

function parsed(texts: readonly string[]): CidrRange[] {
  return texts.flatMap((text) => {
    try {
      return [parseCidr(text)];
    } catch {
      // What a user wrote there by hand takes no block of ours.
      return [];
    }
  });
}

export function nodeIpamController(options: NodeIpamOptions): Controller {
  const clusters = options.clusterCIDRs.map(parseCidr);
  const prefixOf = (cluster: CidrRange): number =>
    cluster.bits === 32 ? (options.nodeCIDRMaskSizeIPv4 ?? 24) : (options.nodeCIDRMaskSizeIPv6 ?? 64);
  // A block that was just freed is the last to be given again: packets to its old pods may still be under way.
  const next = clusters.map(() => 0);
  /** Given, and not yet seen in the informer. */
  const given = new Map<string, readonly string[]>();

  function usedBlocks(context: ControllerContext): CidrRange[] {
    const all: string[] = [];
    for (const node of context.read(nodes).list()) {
      const own = cidrsOf(node);
      if (own.length > 0) given.delete(node.metadata.name);
      all.push(...own);
    }
    for (const blocks of given.values()) all.push(...blocks);
    return parsed(all);
  }

  return defineController({
    name: 'node-ipam-controller',
    serviceAccount: 'node-controller',
    for: nodes,
    writes: [nodes, events],
    // One at a time: two that choose at once would choose the same.
    concurrency: 1,
    async reconcile({ name }, context) {
      const node = context.read(nodes).get(name);
      if (node === undefined) {
        given.delete(name);
        return undefined;
      }
      if (cidrsOf(node).length > 0 || given.has(name)) return undefined;
      const used = usedBlocks(context);
      const blocks: string[] = [];
      for (const [i, cluster] of clusters.entries()) {
        const free = freeBlock(cluster, prefixOf(cluster), used, next[i] ?? 0);
        if (free === undefined) {
          const message = `Node ${name} status is now: CIDRNotAvailable`;
          context.events.event(referenceTo(nodes, node), 'Normal', 'CIDRNotAvailable', message);
          throw new Error(
            `CIDR allocation failed; there are no remaining CIDRs left to allocate in range ${cidrText(cluster)}`,
          );
        }
        next[i] = free.number + 1;
        blocks.push(cidrText(free.block));
      }
      given.set(name, blocks);
      try {
        const body = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: blocks[0], podCIDRs: blocks } };
        await context.write.patch(nodes, { name }, { type: 'strategic', body });
      } catch (error) {
        given.delete(name);
        throw error;
      }
      return undefined;
    },
  });
}
