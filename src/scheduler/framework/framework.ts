// Runs the plugins of one profile, extension point by extension point.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PointName } from '../config/scheduler-configuration.ts';
import type { PluginsByPoint } from '../profile.ts';
import { CycleState } from './cycle-state.ts';
import type { ExtensionPoint, FrameworkMetrics, PluginMetrics } from './framework-metrics.ts';
import type { NodeInfo, PodInfo } from './node-info.ts';
import type { Nominator } from './nominator.ts';
import type { FailedSearch, NodeScore, Plugin, PostFilterResult, WhatIf } from './plugin.ts';
import type { Snapshot } from './snapshot.ts';
import { type NodeStatuses, type Result, type Status, unresolvable, unschedulable } from './status.ts';

type Having<K extends keyof Plugin> = Plugin & { readonly [P in K]-?: NonNullable<Plugin[P]> };

function having<K extends keyof Plugin>(
  plugins: readonly { readonly plugin: Plugin }[],
  member: K,
): readonly Having<K>[] {
  return plugins
    .map(({ plugin }) => plugin)
    .filter((plugin) => plugin[member] !== undefined) as unknown as readonly Having<K>[];
}

/** A plugin at one of its points. */
interface Placed<K extends keyof Plugin> extends PluginMetrics {
  readonly plugin: Having<K>;
}

export interface PreFilterOutcome {
  /** A refusal that holds for every node. */
  readonly refused?: Status;
  readonly nodeNames?: ReadonlySet<string>;
  /** Who named them. */
  readonly namedBy?: readonly string[];
}

export interface FilterOutcome {
  readonly feasible: readonly NodeInfo[];
  readonly looked: number;
}

const errorAmong = (statuses: ReadonlyMap<string, Status>): Result =>
  statuses.values().find(({ code }) => code === 'Error');

/** The plugins that named nodes agree on none. */
const noNodeNamed = (plugins: readonly string[]): Status =>
  unresolvable(
    plugins.length === 1
      ? `node(s) didn't satisfy plugin ${plugins[0]}`
      : `node(s) didn't satisfy plugin(s) [${[...plugins].sort().join(' ')}] simultaneously`,
  );

/** Upstream's PodPriority. */
const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0;

const none: readonly PodInfo[] = [];
const nobody: Pick<Nominator, 'on'> = { on: () => none };

export class Framework implements WhatIf {
  readonly points: PluginsByPoint;
  readonly #metrics: FrameworkMetrics;
  readonly #nominator: Pick<Nominator, 'on'>;
  readonly #weights: ReadonlyMap<string, number>;
  readonly #preFilter: readonly Placed<'preFilter'>[];
  readonly #filter: readonly Placed<'filter'>[];
  readonly #addPod: readonly Having<'addPod'>[];
  readonly #removePod: readonly Having<'removePod'>[];
  readonly #postFilter: readonly Placed<'postFilter'>[];
  readonly #preScore: readonly Placed<'preScore'>[];
  readonly #score: readonly Placed<'score'>[];
  readonly #normalize: ReadonlyMap<Plugin, Placed<'normalizeScores'>>;
  readonly #reserve: readonly Placed<'reserve'>[];
  readonly #unreserve: readonly Placed<'unreserve'>[];
  readonly #permit: readonly Placed<'permit'>[];
  readonly #preBind: readonly Placed<'preBind'>[];
  readonly #bind: readonly Placed<'bind'>[];
  readonly #postBind: readonly Placed<'postBind'>[];

  constructor(points: PluginsByPoint, metrics: FrameworkMetrics, nominator: Pick<Nominator, 'on'> = nobody) {
    this.#nominator = nominator;
    this.points = points;
    this.#metrics = metrics;
    this.#weights = new Map(points.score.map(({ plugin, weight }) => [plugin.name, weight]));
    const placed = <K extends keyof Plugin>(
      member: K,
      name: ExtensionPoint,
      at: PointName = member as PointName,
    ): Placed<K>[] =>
      having(points[at], member).map((plugin) => ({ plugin, ...metrics.plugin(plugin, name) }));
    this.#preFilter = placed('preFilter', 'PreFilter');
    this.#filter = placed('filter', 'Filter');
    this.#addPod = having(points.preFilter, 'addPod');
    this.#removePod = having(points.preFilter, 'removePod');
    this.#postFilter = placed('postFilter', 'PostFilter');
    this.#preScore = placed('preScore', 'PreScore');
    this.#score = placed('score', 'Score');
    this.#normalize = new Map(
      placed('normalizeScores', 'ScoreExtensionNormalize', 'score').map((one) => [one.plugin, one]),
    );
    this.#reserve = placed('reserve', 'Reserve');
    this.#unreserve = placed('unreserve', 'Unreserve', 'reserve').reverse();
    this.#permit = placed('permit', 'Permit');
    this.#preBind = placed('preBind', 'PreBind');
    this.#bind = placed('bind', 'Bind');
    this.#postBind = placed('postBind', 'PostBind');
  }

  beginCycle(): CycleState {
    return new CycleState(this.#metrics.takesSample());
  }

  runPreFilter(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterOutcome {
    return this.#metrics.point(
      'PreFilter',
      () => this.#preFilterAll(state, pod, snapshot),
      ({ refused }) => refused,
    );
  }

  #preFilterAll(state: CycleState, pod: Pod, snapshot: Snapshot): PreFilterOutcome {
    let nodeNames: ReadonlySet<string> | undefined;
    let refused: Status | undefined;
    const namedBy: string[] = [];
    let at = this.#metrics.begins(state);
    for (const { asked, plugin, took } of this.#preFilter) {
      asked.inc();
      const result = plugin.preFilter(state, pod, snapshot);
      if (state.isSample) at = took(result?.status, at);
      if (!result) continue;
      if (result.status?.code === 'Skip') {
        state.skippedFilters.add(plugin.name);
        continue;
      }
      if (result.status) {
        refused = { ...result.status, plugin: plugin.name };
        // What others compute is needed where preemption may help.
        if (refused.code !== 'Unschedulable') return { refused };
        continue;
      }
      if (!result.nodeNames) continue;
      namedBy.push(plugin.name);
      nodeNames = nodeNames ? result.nodeNames.intersection(nodeNames) : result.nodeNames;
      if (nodeNames.size === 0) return { refused: { ...noNodeNamed(namedBy), plugin: plugin.name } };
    }
    if (refused) return { refused };
    return nodeNames ? { nodeNames, namedBy } : {};
  }

  /** Looks at nodes in turn, from `startAt`, until `enough` fit; why the others do not is written into `statuses`. */
  runFilters(
    state: CycleState,
    pod: Pod,
    nodes: readonly NodeInfo[],
    how: { readonly startAt: number; readonly enough: number; readonly statuses: NodeStatuses },
  ): FilterOutcome {
    const { startAt, enough } = how;
    const { asked } = how.statuses;
    const search = (): FilterOutcome => {
      const feasible: NodeInfo[] = [];
      let looked = 0;
      for (; looked < nodes.length && feasible.length < enough; looked++) {
        const node = nodes[(startAt + looked) % nodes.length]!;
        const status = this.fits(state, pod, node);
        if (status) asked.set(node.name, status);
        else feasible.push(node);
      }
      return { feasible, looked };
    };
    // That nodes are refused is no failure of the point (upstream: findNodesThatPassFilters).
    return this.#metrics.point('Filter', search, () => errorAmong(asked));
  }

  /**
   * The first refusal, or undefined when the node fits: also with the pods that are nominated to it and of no lower priority,
   * which may never come (upstream: RunFilterPluginsWithNominatedPods).
   */
  fits(state: CycleState, pod: Pod, node: NodeInfo): Result {
    const all = this.#nominator.on(node.name);
    const nominated =
      all.length === 0
        ? all
        : all.filter(
            (other) =>
              priorityOf(other.pod) >= priorityOf(pod) && other.pod.metadata.uid !== pod.metadata.uid,
          );
    if (nominated.length > 0) {
      const [crowdedState, crowded] = [state.clone(), node.clone()];
      for (const other of nominated) {
        crowded.addPod(other);
        this.add(crowdedState, pod, other, crowded);
      }
      const status = this.#filterOne(crowdedState, pod, crowded);
      if (status) return status;
    }
    return this.#filterOne(state, pod, node);
  }

  add(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void {
    for (const plugin of this.#addPod)
      if (!state.skippedFilters.has(plugin.name)) plugin.addPod(state, pod, other, node);
  }

  remove(state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo): void {
    for (const plugin of this.#removePod)
      if (!state.skippedFilters.has(plugin.name)) plugin.removePod(state, pod, other, node);
  }

  #filterOne(state: CycleState, pod: Pod, node: NodeInfo): Result {
    let at = this.#metrics.begins(state);
    for (const { asked, plugin, took } of this.#filter) {
      if (state.skippedFilters.has(plugin.name)) continue;
      asked.inc();
      const status = plugin.filter(state, pod, node);
      if (state.isSample) at = took(status, at);
      if (status) return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  get hasPostFilter(): boolean {
    return this.#postFilter.length > 0;
  }

  /** Asks in turn until one has made room, or says that nobody can. At once, unless a plugin has to ask somebody else. */
  runPostFilter(
    state: CycleState,
    pod: Pod,
    snapshot: Snapshot,
    statuses: NodeStatuses,
  ): PostFilterResult | Promise<PostFilterResult> {
    const search: FailedSearch = { snapshot, statuses, whatIf: this };
    const reasons: string[] = [];
    let nominatedNode: string | undefined;
    const from = (i: number): PostFilterResult | Promise<PostFilterResult> => {
      const next = this.#postFilter[i];
      if (next === undefined) {
        const status = unschedulable(...reasons);
        return nominatedNode === undefined ? { status } : { status, nominatedNode };
      }
      const began = this.#metrics.begins(state);
      const goOn = (made: PostFilterResult): PostFilterResult | Promise<PostFilterResult> => {
        if (state.isSample) next.took(made.status, began);
        if (made.status?.code !== 'Unschedulable') return made;
        nominatedNode = made.nominatedNode ?? nominatedNode;
        reasons.push(...made.status.reasons);
        return from(i + 1);
      };
      const made = next.plugin.postFilter(state, pod, search);
      return made instanceof Promise ? made.then(goOn) : goOn(made);
    };
    return this.#metrics.pointSoon(
      'PostFilter',
      () => from(0),
      ({ status }) => status,
    );
  }

  /** Total scores by node, plugins' weights applied. */
  runScore(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): NodeScore[] {
    const succeeded = (): undefined => undefined;
    this.#metrics.point('PreScore', () => this.#preScoreAll(state, pod, nodes), succeeded);
    return this.#metrics.point('Score', () => this.#scoreAll(state, pod, nodes), succeeded);
  }

  #preScoreAll(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): void {
    let at = this.#metrics.begins(state);
    for (const { asked, plugin, took } of this.#preScore) {
      asked.inc();
      const status = plugin.preScore(state, pod, nodes);
      if (state.isSample) at = took(status, at);
      if (status?.code === 'Skip') state.skippedScores.add(plugin.name);
    }
  }

  #scoreAll(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): NodeScore[] {
    const totals: NodeScore[] = nodes.map((node) => ({ node: node.name, score: 0 }));
    for (const placed of this.#score) {
      const { plugin } = placed;
      if (state.skippedScores.has(plugin.name)) continue;
      const scores = this.#scoresOf(placed, state, pod, nodes);
      const weight = this.#weights.get(plugin.name) ?? 1;
      for (let i = 0; i < scores.length; i++) totals[i]!.score += scores[i]!.score * weight;
    }
    return totals;
  }

  /** Brought to 0…100. */
  #scoresOf(
    { asked, plugin, took }: Placed<'score'>,
    state: CycleState,
    pod: Pod,
    nodes: readonly NodeInfo[],
  ): NodeScore[] {
    asked.inc(nodes.length);
    let at = this.#metrics.begins(state);
    const scores = nodes.map((node): NodeScore => {
      const score = plugin.score(state, pod, node);
      if (state.isSample) at = took(undefined, at);
      return { node: node.name, score };
    });
    plugin.normalizeScores?.(state, pod, scores);
    if (state.isSample) this.#normalize.get(plugin)?.took(undefined, at);
    return scores;
  }

  /** Reserves in order. When one refuses, whoever calls undoes it, as with all that may refuse after it. */
  runReserve(state: CycleState, pod: Pod, node: string): Result {
    return this.#metrics.point('Reserve', () =>
      this.#refusal(this.#reserve, (plugin) => plugin.reserve(state, pod, node), state),
    );
  }

  runUnreserve(state: CycleState, pod: Pod, node: string): void {
    this.#tellAll('Unreserve', this.#unreserve, (plugin) => plugin.unreserve(state, pod, node), state);
  }

  runPermit(state: CycleState, pod: Pod, node: string): Result {
    return this.#metrics.point('Permit', () =>
      this.#refusal(this.#permit, (plugin) => plugin.permit(state, pod, node), state),
    );
  }

  #tellAll<K extends keyof Plugin>(
    point: ExtensionPoint,
    plugins: readonly Placed<K>[],
    tell: (plugin: Having<K>) => void,
    state: CycleState,
  ): void {
    this.#metrics.point(point, () => {
      let at = this.#metrics.begins(state);
      for (const { plugin, took } of plugins) {
        tell(plugin);
        if (state.isSample) at = took(undefined, at);
      }
    });
  }

  /** The first one. */
  #refusal<K extends keyof Plugin>(
    plugins: readonly Placed<K>[],
    ask: (plugin: Having<K>) => Result,
    state: CycleState,
  ): Result {
    let at = this.#metrics.begins(state);
    for (const { plugin, took } of plugins) {
      const status = ask(plugin);
      if (state.isSample) at = took(status, at);
      if (status) return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  /** A plugin that throws has failed, like one that answers so. */
  async runBind(state: CycleState, pod: Pod, node: string): Promise<Result> {
    try {
      const refused = await this.#metrics.pointAsync('PreBind', () => this.#preBindAll(state, pod, node));
      if (refused) return refused;
      const failed = await this.#metrics.pointAsync('Bind', () => this.#bindBy(state, pod, node));
      if (failed) return failed;
      this.#tellAll('PostBind', this.#postBind, (plugin) => plugin.postBind(state, pod, node), state);
      return undefined;
    } catch (error) {
      return { code: 'Error', reasons: [error instanceof Error ? error.message : String(error)] };
    }
  }

  async #preBindAll(state: CycleState, pod: Pod, node: string): Promise<Result> {
    let at = this.#metrics.begins(state);
    for (const { plugin, took } of this.#preBind) {
      const status = await plugin.preBind(state, pod, node);
      if (state.isSample) at = took(status, at);
      if (status) return { ...status, plugin: plugin.name };
    }
    return undefined;
  }

  async #bindBy(state: CycleState, pod: Pod, node: string): Promise<Result> {
    for (const { plugin, took } of this.#bind) {
      const began = this.#metrics.begins(state);
      const bound = plugin.bind(state, pod, node);
      if (!bound) continue;
      const { status } = await bound;
      if (state.isSample) took(status, began);
      return status && { ...status, plugin: plugin.name };
    }
    return { code: 'Error', reasons: ['no bind plugin took the pod'] };
  }
}
