// Gives each node its own block of pod addresses.
import { events, nodes } from '../api/generated/resources.ts';
import type { Node } from '../api/generated/types/core-v1.ts';
import { type Cidr, formatCidr, parseCidr } from '../base/ip.ts';
import { referenceTo } from '../client/event-recorder.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { blockNumber, freeAt, freeBlock, parseRange } from './node/cidr-blocks.ts';

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

/** What a user wrote there by hand and is no prefix takes no block of ours. */
const parsed = (texts: readonly string[]): Cidr[] => texts.flatMap((text) => parseCidr(text) ?? []);

/** Names of deleted Nodes whose blocks are remembered. */
const maxRemembered = 5000;

/** A Node that was deleted and is registered again gets its block again while it is free: its pods still have the addresses. */
class FormerBlocks {
  readonly #had = new Map<string, readonly Cidr[]>();
  remember(name: string, blocks: readonly Cidr[]): void {
    this.#had.delete(name);
    this.#had.set(name, blocks);
    const [oldest] = this.#had.keys();
    if (this.#had.size > maxRemembered) this.#had.delete(oldest!);
  }
  free(name: string, cluster: Cidr, prefix: number, used: readonly Cidr[]): Cidr | undefined {
    const numbers = this.#had.get(name)?.map((block) => blockNumber(cluster, prefix, block));
    const own = numbers?.find((number) => number !== undefined);
    return own === undefined ? undefined : freeAt(cluster, prefix, used, own)?.block;
  }
}

export function nodeIpamController(options: NodeIpamOptions): Controller {
  const clusters = options.clusterCIDRs.map(parseRange);
  const prefixOf = (cluster: Cidr): number =>
    cluster.family === 4 ? (options.nodeCIDRMaskSizeIPv4 ?? 24) : (options.nodeCIDRMaskSizeIPv6 ?? 64);
  // A block that was just freed is the last to be given again: packets to its old pods may still be under way.
  const next = clusters.map(() => 0);
  const former = new FormerBlocks();
  /** Given, and not yet seen in the informer. */
  const given = new Map<string, readonly string[]>();

  function usedBlocks(context: ControllerContext): Cidr[] {
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
      if (cidrsOf(node).length > 0) former.remember(name, parsed(cidrsOf(node)));
      if (cidrsOf(node).length > 0 || given.has(name)) return undefined;
      const used = usedBlocks(context);
      const blocks: string[] = [];
      for (const [i, cluster] of clusters.entries()) {
        const prefix = prefixOf(cluster);
        const again = former.free(name, cluster, prefix, used);
        if (again !== undefined) {
          blocks.push(formatCidr(again));
          continue;
        }
        const free = freeBlock(cluster, prefix, used, next[i] ?? 0);
        if (free === undefined) {
          const message = `Node ${name} status is now: CIDRNotAvailable`;
          context.events.event(referenceTo(nodes, node), 'Normal', 'CIDRNotAvailable', message);
          throw new Error(
            `CIDR allocation failed; there are no remaining CIDRs left to allocate in range ${formatCidr(cluster)}`,
          );
        }
        next[i] = free.number + 1;
        blocks.push(formatCidr(free.block));
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
