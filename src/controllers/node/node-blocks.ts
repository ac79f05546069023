// Which node has which blocks of pod addresses, as it stands in the nodes and as it was given to them a moment ago.
import { type Cidr, formatCidr, parseCidr } from '../../base/ip.ts';
import { BlockPool } from './cidr-blocks.ts';

/** Where blocks come from, and the length of their prefix. */
export interface BlockSource {
  readonly cluster: Cidr;
  readonly prefix: number;
}

/** Names of deleted Nodes whose blocks are remembered. */
const maxRemembered = 5000;

interface Pool extends BlockSource {
  readonly left: BlockPool;
  /** A block that was just freed is the last to be given again: packets to its old pods may still be under way. */
  next: number;
}

interface Holding {
  readonly texts: readonly string[];
  readonly ranges: readonly Cidr[];
  /** Given, and not yet seen in the node. */
  readonly isNew: boolean;
  /** Given, and whether it was written is not known: it is to be given again, or its second write is under way. */
  readonly doubt?: 'open' | 'under way';
}

/** What a user wrote there by hand and is no prefix takes no block of ours. */
const parsed = (texts: readonly string[]): Cidr[] => texts.flatMap((text) => parseCidr(text) ?? []);

export class NodeBlocks {
  readonly #pools: readonly Pool[];
  readonly #held = new Map<string, Holding>();
  /** A Node that was deleted and is registered again gets its block again while it is free: its pods still have the addresses. */
  readonly #former = new Map<string, readonly Cidr[]>();

  constructor(sources: readonly BlockSource[]) {
    this.#pools = sources.map((source) => ({
      ...source,
      left: new BlockPool(source.cluster, source.prefix),
      next: 0,
    }));
  }

  /** Nothing is to be written. */
  has(name: string): boolean {
    const held = this.#held.get(name);
    return held !== undefined && held.doubt !== 'open';
  }

  /** What stands in a node. A node without any keeps what was just given to it. */
  saw(name: string, texts: readonly string[]): void {
    const held = this.#held.get(name);
    if (texts.length === 0 ? held === undefined || held.isNew : isSame(held, texts)) return;
    this.#release(name);
    if (texts.length > 0) this.#hold(name, { texts, ranges: parsed(texts), isNew: false });
  }

  left(name: string): void {
    const held = this.#held.get(name);
    this.#release(name);
    if (held === undefined || held.isNew) return;
    this.#former.set(name, held.ranges);
    const [oldest] = this.#former.keys();
    if (this.#former.size > maxRemembered) this.#former.delete(oldest!);
  }

  /** One block of each range, the same as before when that is doubtful; or the range that has none left. */
  give(name: string): { readonly blocks: readonly string[] } | { readonly isFull: Cidr } {
    const held = this.#held.get(name);
    if (held?.doubt === 'open') {
      this.#held.set(name, { ...held, doubt: 'under way' });
      return { blocks: held.texts };
    }
    const ranges: Cidr[] = [];
    for (const pool of this.#pools) {
      const again = this.#formerBlock(name, pool);
      const free = again ?? pool.left.free(pool.next);
      if (free === undefined) return { isFull: pool.cluster };
      if (again === undefined) pool.next = free.number + 1;
      ranges.push(free.block);
    }
    const texts = ranges.map(formatCidr);
    this.#hold(name, { texts, ranges, isNew: true });
    return { blocks: texts };
  }

  /** Whether the node got what was given to it is not known: nobody else gets it, and it is given again. */
  doubt(name: string): void {
    const held = this.#held.get(name);
    if (held?.isNew === true) this.#held.set(name, { ...held, doubt: 'open' });
  }

  /** The node did not get what was given to it; of a block that was in doubt an earlier write may have been stored. */
  takeBack(name: string): void {
    const held = this.#held.get(name);
    if (held?.doubt !== undefined) this.doubt(name);
    else if (held?.isNew === true) this.#release(name);
  }

  #formerBlock(name: string, { left }: Pool): ReturnType<BlockPool['free']> {
    const numbers = this.#former.get(name)?.map((range) => left.numberOf(range));
    const own = numbers?.find((number) => number !== undefined);
    return own === undefined ? undefined : left.freeAt(own);
  }

  #hold(name: string, holding: Holding): void {
    this.#former.delete(name);
    this.#held.set(name, holding);
    for (const { left } of this.#pools) for (const range of holding.ranges) left.take(range);
  }

  #release(name: string): void {
    for (const range of this.#held.get(name)?.ranges ?? [])
      for (const { left } of this.#pools) left.giveBack(range);
    this.#held.delete(name);
  }
}

const isSame = (held: Holding | undefined, texts: readonly string[]): boolean =>
  held?.isNew === false &&
  held.texts.length === texts.length &&
  held.texts.every((text, i) => text === texts[i]);
