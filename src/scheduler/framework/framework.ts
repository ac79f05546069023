// Runs the plugins of one profile, extension point by extension point.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo } from './node-info.ts';
import type { NodeScore, Plugin, PostFilterResult, WeightedPlugin } from './plugin.ts';
import type { Snapshot } from './snapshot.ts';
import type { Result, Status } from './status.ts';

type Having<K extends keyof Plugin> = Plugin & { readonly [P in K]-?: NonNullable<Plugin[P]> };

function having<K extends keyof Plugin>(plugins: readonly Plugin[], point: K): readonly Having<K>[] {
  return plugins.filter((plugin) => plugin[point] !== undefined) as unknown as readonly Having<K>[];
}

export interface PreFilterOutcome {
  /** A refusal that holds for every node. */
  readonly refused?: Status;
  readonly nodeNames?: ReadonlySet<string>;
}

export class Framework {
  readonly plugins: readonly Plugin[];
  readonly #weights: ReadonlyMap<string, number>;
  readonly #preFilter: readonly Having<'preFilter'>[];
  readonly #filter: readonly Having<'filter'>[];
  readonly #postFilter: readonly Having<'postFilter'>[];
  readonly #preScore: readonly Having<'preScore'>[];
  readonly #score: readonly Having<'score'>[];

  constructor(weighted: readonly WeightedPlugin[]) {
    this.plugins = weighted.map(({ plugin }) => plugin);
    this.#weights = new Map(weighted.map(({ plugin, weight }) => [plugin.name, weight]));
    this.#preFilter = having(this.plugins, 'preFilter');
    this.#filter = having(this.plugins, 'filter');
    this.#postFilter = having(this.plugins, 'postFilter');
    this.#preScore = having(this.plugins, 'preScore');
    this.#score = having(this.plugins, 'score');
  }

  runPreFilter(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterOutcome {
    let nodeNames: ReadonlySet<string> | undefined;
    for (const plugin of this.#preFilter) {
      const result = plugin.preFilter(state, pod, snapshot);
      if (!result) continue;
      if (result.status?.code === 'Skip') {
        state.skippedFilters.add(plugin.name);
        continue;
      }
      if (result.status) return { refused: { ...result.status, plugin: plugin.name } };
      if (!result.nodeNames) continue;
      const before = nodeNames;
      nodeNames = before
        ? new Set([...result.nodeNames].filter((name) => before.has(name)))
        : result.nodeNames;
    }
    return nodeNames ? { nodeNames } : {};
  }

  /** The first refusal, or undefined when the node fits. */
  runFilter(state: CycleState, pod: Pod, node: NodeInfo): Result {
    for (const plugin of this.#filter) {
      if (state.skippedFilters.has(plugin.name)) continue;
      const status = plugin.filter(state, pod, node);
      if (status) return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  async runPostFilter(
    state: CycleState,
    pod: Pod,
    snapshot: Snapshot,
    statuses: ReadonlyMap<string, Status>,
  ): Promise<PostFilterResult | undefined> {
    let last: PostFilterResult | undefined;
    for (const plugin of this.#postFilter) {
      last = await plugin.postFilter(state, pod, snapshot, statuses);
      if (last.nominatedNode !== undefined) return last;
    }
    return last;
  }

  /** Total scores by node, plugins' weights applied. */
  runScore(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): NodeScore[] {
    for (const plugin of this.#preScore) {
      if (plugin.preScore(state, pod, nodes)?.code === 'Skip') state.skippedScores.add(plugin.name);
    }
    const totals: NodeScore[] = nodes.map((node) => ({ node: node.name, score: 0 }));
    for (const plugin of this.#score) {
      if (state.skippedScores.has(plugin.name)) continue;
      const scores: NodeScore[] = nodes.map((node) => ({
        node: node.name,
        score: plugin.score(state, pod, node),
      }));
      plugin.normalizeScores?.(state, pod, scores);
      const weight = this.#weights.get(plugin.name) ?? 1;
      for (let i = 0; i < scores.length; i++) totals[i]!.score += scores[i]!.score * weight;
    }
    return totals;
  }

  /** Reserves in order; undoes all when one refuses. */
  runReserve(state: CycleState, pod: Pod, node: string): Result {
    for (const plugin of having(this.plugins, 'reserve')) {
      const status = plugin.reserve(state, pod, node);
      if (!status) continue;
      this.runUnreserve(state, pod, node);
      return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  runUnreserve(state: CycleState, pod: Pod, node: string): void {
    for (const plugin of [...having(this.plugins, 'unreserve')].reverse()) plugin.unreserve(state, pod, node);
  }

  runPermit(state: CycleState, pod: Pod, node: string): Result {
    for (const plugin of having(this.plugins, 'permit')) {
      const status = plugin.permit(state, pod, node);
      if (status) return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  /** A plugin that throws has failed, like one that answers so. */
  async runBind(state: CycleState, pod: Pod, node: string): Promise<Result> {
    try {
      return await this.#bind(state, pod, node);
    } catch (error) {
      return { code: 'Error', reasons: [error instanceof Error ? error.message : String(error)] };
    }
  }

  async #bind(state: CycleState, pod: Pod, node: string): Promise<Result> {
    for (const plugin of having(this.plugins, 'preBind')) {
      const status = await plugin.preBind(state, pod, node);
      if (status) return { ...status, plugin: plugin.name };
    }
    for (const plugin of having(this.plugins, 'bind')) {
      const bound = plugin.bind(state, pod, node);
      if (!bound) continue;
      const { status } = await bound;
      if (status) return { ...status, plugin: plugin.name };
      for (const after of having(this.plugins, 'postBind')) after.postBind(state, pod, node);
      return undefined;
    }
    return { code: 'Error', reasons: ['no bind plugin took the pod'] };
  }
}
