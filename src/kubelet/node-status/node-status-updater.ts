// Registers the node and keeps its status: every 10 s when something changed, every 5 minutes anyway.
import { nodes } from '../../api/generated/resources.ts';
import type { Node, NodeStatus } from '../../api/generated/types/core-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import { within } from '../../base/within.ts';
import type { Client } from '../../client/client.ts';
import { type EventRecorder, referenceTo } from '../../client/event-recorder.ts';
import type { Logger } from '../../component-base/logger.ts';
import {
  comparable,
  initialNode,
  type NodeFacts,
  type NodeHealth,
  nodeLabels,
  nodeStatus,
} from './node-object.ts';

export interface NodeStatusDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly facts: NodeFacts;
  readonly health: () => Promise<Omit<NodeHealth, 'now'>>;
}

const updateMs = 10_000;
const reportMs = 300_000;
/** Until the node is ready for the first time, it looks more often. */
const startingMs = 100;

/** As upstream's client of heartbeats. */
const answerMs = 10_000;

const answerOf = <T>({ clock }: NodeStatusDeps, work: Promise<T>): Promise<T> =>
  within(clock, answerMs, work);

/** Creates the node, or takes over the one of that name, with the labels that are the kubelet's. */
async function registerNode(deps: NodeStatusDeps): Promise<void> {
  const wanted = initialNode(deps.facts);
  try {
    await answerOf(deps, deps.client.create(nodes, wanted));
    return;
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
  }
  const body = {
    metadata: { labels: nodeLabels(deps.facts), annotations: wanted.metadata.annotations },
  };
  await answerOf(deps, deps.client.patch(nodes, { name: deps.facts.nodeName }, { type: 'merge', body }));
}

const transitions: Readonly<Record<string, readonly [string, string]>> = {
  Ready: ['NodeReady', 'NodeNotReady'],
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

function recordTransitions(
  deps: NodeStatusDeps,
  node: Node,
  before: NodeStatus | undefined,
  after: NodeStatus,
): void {
  for (const condition of after.conditions ?? []) {
    const old = before?.conditions?.find((c) => c.type === condition.type);
    if (old?.status === condition.status) continue;
    const reason = transitions[condition.type]?.[condition.status === 'True' ? 0 : 1];
    if (reason === undefined) continue;
    // Upstream names nodes by name, so that the events of a node that came back are found.
    const about = { ...referenceTo(nodes, node), uid: deps.facts.nodeName };
    deps.recorder.event(about, 'Normal', reason, `Node ${deps.facts.nodeName} status is now: ${reason}`);
  }
}

/** Whether the server has our conditions as we see them. */
const showsConditions = (node: Node, { conditions = [] }: NodeStatus): boolean =>
  conditions.every((ours) => {
    const shown = node.status?.conditions?.find(({ type }) => type === ours.type);
    return shown?.status === ours.status && shown.reason === ours.reason;
  });

export interface NodeStatusUpdater {
  /** Looks at once. */
  poke(): void;
  /** The node as the API had it at the last look; undefined: there was none yet. */
  known(): Node | undefined;
  /** Asks for it now. Throws when it can't be had. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

export function startNodeStatusUpdater(deps: NodeStatusDeps): NodeStatusUpdater {
  const stopped = new AbortController();
  let wake: (() => void) | undefined;
  let sent: NodeStatus | undefined;
  let sentMs = Number.NEGATIVE_INFINITY;
  let wasReady = false;
  let known: Node | undefined;

  async function look(): Promise<Node> {
    known = await answerOf(deps, deps.client.get(nodes, { name: deps.facts.nodeName }));
    return known;
  }

  async function update(): Promise<void> {
    // What the server shows may be another's word: the node lifecycle controller's, when nothing was heard for a while.
    const node = await look();
    const health = { ...(await deps.health()), now: rfc3339(deps.clock.now()) };
    const next = nodeStatus(deps.facts, health, node.status);
    const due = deps.clock.monotonic() - sentMs >= reportMs;
    wasReady = next.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
    if (!due && sent !== undefined && comparable(sent) === comparable(next) && showsConditions(node, next))
      return;
    await answerOf(
      deps,
      deps.client.patch(
        nodes,
        { name: deps.facts.nodeName },
        { type: 'strategic', body: { status: next } },
        { subresource: 'status' },
      ),
    );
    recordTransitions(deps, node, node.status, next);
    sent = next;
    sentMs = deps.clock.monotonic();
  }

  async function loop(): Promise<void> {
    let registered = false;
    while (!stopped.signal.aborted) {
      try {
        if (!registered) await registerNode(deps);
        registered = true;
        await update();
      } catch (error) {
        if (stopped.signal.aborted) return;
        // A Node that somebody deleted stays so, as upstream, until its kubelet is started anew.
        deps.log.warn({ error }, 'the node status could not be written');
      }
      const early = new AbortController();
      wake = () => early.abort();
      try {
        const ms = wasReady ? updateMs : startingMs;
        await deps.clock.sleep(ms, AbortSignal.any([stopped.signal, early.signal]));
      } catch {
        // poked, or stopped
      }
    }
  }

  const work = loop();
  return {
    poke: () => wake?.(),
    known: () => known,
    look: async () => void (await look()),
    stop: async () => {
      stopped.abort();
      await work;
    },
  };
}
