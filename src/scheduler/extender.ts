// Extenders: services of others that are asked by HTTP which nodes do, which are best, whom to end, and that may bind.
import { pods } from '../api/generated/resources.ts';
import type { Node, Pod } from '../api/generated/types/core-v1.ts';
import type { ExtenderConfiguration } from './config/scheduler-configuration.ts';
import type { NodeInfo } from './framework/node-info.ts';
import type { Plugin } from './framework/plugin.ts';
import type { Candidate } from './framework/preemption.ts';
import type { Snapshot } from './framework/snapshot.ts';
import { failure, type NodeStatuses, type Result, unresolvable, unschedulable } from './framework/status.ts';

/** Posts JSON and answers JSON. Throws what went wrong, also for another status than 200. */
export type AskExtender = (url: string, body: object) => Promise<unknown>;

export interface Extender {
  readonly configuration: ExtenderConfiguration;
  readonly ask: AskExtender;
}

/** In the place of a plugin's name. Any change of the cluster may change what others say. */
const extenderName = 'Extender';

type Answer = Readonly<Record<string, unknown>>;

/** As Go reads it: a field has no case. */
function read(answer: unknown, field: string): unknown {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const wanted = field.toLowerCase();
  const found = Object.entries(answer).find(([name]) => name.toLowerCase() === wanted)?.[1];
  return found ?? undefined;
}

const textOf = (answer: unknown, field: string): string => {
  const value = read(answer, field);
  return typeof value === 'string' ? value : '';
};
const listOf = (answer: unknown, field: string): readonly unknown[] => {
  const value = read(answer, field);
  return Array.isArray(value) ? value : [];
};

function send({ ask, configuration: { urlPrefix } }: Extender, verb: string, body: object): Promise<unknown> {
  let end = urlPrefix.length;
  while (urlPrefix[end - 1] === '/') end--;
  return ask(`${urlPrefix.slice(0, end)}/${verb}`, body);
}

/** With managed resources an extender is asked about pods that want one of them. */
export function isInterested({ configuration: { managedResources } }: Extender, { spec }: Pod): boolean {
  if (managedResources.length === 0) return true;
  const managed = new Set(managedResources.map(({ name }) => name));
  return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
    [resources?.requests, resources?.limits].some((list) =>
      Object.keys(list ?? {}).some((name) => managed.has(name)),
    ),
  );
}

/** Kinds are not said in lists of objects that are at hand. */
const podBody = (pod: Pod): object => ({ kind: pods.kind, apiVersion: 'v1', ...pod });

function argumentsOf({ configuration }: Extender, pod: Pod, nodes: readonly NodeInfo[]): object {
  const known = configuration.nodeCacheCapable;
  return {
    Pod: podBody(pod),
    Nodes: known ? null : { metadata: {}, items: nodes.map(({ node }): Node => node) },
    NodeNames: known ? nodes.map(({ name }) => name) : null,
  };
}

async function filterBy(
  extender: Extender,
  pod: Pod,
  nodes: readonly NodeInfo[],
  { asked }: NodeStatuses,
): Promise<readonly NodeInfo[]> {
  const { filterVerb, nodeCacheCapable, urlPrefix } = extender.configuration;
  if (filterVerb === '') return nodes;
  const answer = await send(extender, filterVerb, argumentsOf(extender, pod, nodes));
  const error = textOf(answer, 'Error');
  if (error !== '') throw new Error(error);
  const failed = (field: string, make: (reason: string) => NonNullable<Result>): void => {
    for (const [node, reason] of Object.entries((read(answer, field) ?? {}) as Answer))
      asked.set(node, { ...make(String(reason)), plugin: extenderName });
  };
  failed('FailedNodes', unschedulable);
  // Goes before the other where a node is in both.
  failed('FailedAndUnresolvableNodes', unresolvable);
  const names =
    nodeCacheCapable && read(answer, 'NodeNames') !== undefined
      ? listOf(answer, 'NodeNames').map(String)
      : listOf(read(answer, 'Nodes'), 'items').map((node) => textOf(read(node, 'metadata'), 'name'));
  const known = new Map(nodes.map((node) => [node.name, node]));
  return names.map((name) => {
    const node = known.get(name);
    if (!node)
      throw new Error(
        `extender ${JSON.stringify(urlPrefix)} claims a filtered node ${JSON.stringify(name)} which is not found in the input node list`,
      );
    return node;
  });
}

/** Those that all extenders leave; why not the others is written into `statuses`. */
export async function filterByExtenders(
  extenders: readonly Extender[],
  pod: Pod,
  nodes: readonly NodeInfo[],
  statuses: NodeStatuses,
): Promise<readonly NodeInfo[]> {
  let left = nodes;
  for (const extender of extenders) {
    if (left.length === 0) break;
    if (!isInterested(extender, pod)) continue;
    try {
      const kept = await filterBy(extender, pod, left, statuses);
      // Refused without a word: whose word it was is known all the same.
      for (const { name } of left)
        if (!kept.some((one) => one.name === name) && !statuses.asked.has(name))
          statuses.asked.set(name, { ...unresolvable(), plugin: extenderName });
      left = kept;
    } catch (error) {
      if (!extender.configuration.ignorable) throw error;
    }
  }
  return left;
}

/** Scores of extenders go to 10. */
const scale = 10;

/** What extenders add to the scores of nodes, by name; one that fails says nothing. */
export async function scoresOfExtenders(
  extenders: readonly Extender[],
  pod: Pod,
  nodes: readonly NodeInfo[],
): Promise<ReadonlyMap<string, number>> {
  const scores = new Map<string, number>();
  await Promise.all(
    extenders.map(async (extender) => {
      const { prioritizeVerb, weight } = extender.configuration;
      if (prioritizeVerb === '' || !isInterested(extender, pod)) return;
      const answer = await send(extender, prioritizeVerb, argumentsOf(extender, pod, nodes)).catch(() => []);
      for (const one of Array.isArray(answer) ? answer : []) {
        const host = textOf(one, 'Host');
        const score = Number(read(one, 'Score') ?? 0);
        if (Number.isFinite(score)) scores.set(host, (scores.get(host) ?? 0) + score * weight * scale);
      }
    }),
  );
  return scores;
}

function victimsOn(extender: Extender, node: NodeInfo | undefined, answer: unknown): Pod[] {
  return listOf(answer, 'Pods').map((one) => {
    const uid = textOf(one, 'UID');
    const pod = node?.pods.get(uid)?.pod;
    if (!pod)
      throw new Error(
        `extender: ${extender.configuration.urlPrefix} claims to preempt pod (UID: ${uid}) on node: ${node?.name ?? ''}, but the pod is not found on that node`,
      );
    return pod;
  });
}

async function preemptBy(
  extender: Extender,
  pod: Pod,
  candidates: readonly Candidate[],
  snapshot: Snapshot,
): Promise<Candidate[]> {
  const { ignorable, nodeCacheCapable, preemptVerb } = extender.configuration;
  const victims = (of: (victim: Pod) => object): object =>
    Object.fromEntries(
      candidates.map((one) => [one.node, { Pods: one.victims.map(of), NumPDBViolations: one.violations }]),
    );
  const answer = await send(extender, preemptVerb, {
    Pod: podBody(pod),
    NodeNameToVictims: nodeCacheCapable ? null : victims(podBody),
    NodeNameToMetaVictims: nodeCacheCapable ? victims(({ metadata: { uid } }) => ({ UID: uid })) : null,
  });
  const left: Candidate[] = [];
  for (const [node, told] of Object.entries((read(answer, 'NodeNameToMetaVictims') ?? {}) as Answer)) {
    const found = victimsOn(extender, snapshot.get(node), told);
    if (found.length > 0)
      left.push({ node, victims: found, violations: Number(read(told, 'NumPDBViolations') ?? 0) });
    else if (!ignorable) throw new Error(`expected at least one victim pod on node ${JSON.stringify(node)}`);
  }
  return left;
}

/** Those that all extenders leave, with the victims that they want. */
export async function preemptByExtenders(
  extenders: readonly Extender[],
  pod: Pod,
  candidates: readonly Candidate[],
  snapshot: Snapshot,
): Promise<readonly Candidate[]> {
  let left = candidates;
  for (const extender of extenders) {
    if (left.length === 0) break;
    if (extender.configuration.preemptVerb === '' || !isInterested(extender, pod)) continue;
    try {
      left = await preemptBy(extender, pod, left, snapshot);
    } catch (error) {
      if (!extender.configuration.ignorable) throw error;
    }
  }
  return left;
}

/** Binds by the extender that can, before any plugin does; undefined: none can. */
export function bindingExtender(extenders: readonly Extender[]): Plugin | undefined {
  const extender = extenders.find(({ configuration }) => configuration.bindVerb !== '');
  if (!extender) return undefined;
  const { bindVerb } = extender.configuration;
  return {
    name: extenderName,
    bind(_state, pod, node) {
      if (!isInterested(extender, pod)) return undefined;
      const { name, namespace, uid } = pod.metadata;
      const body = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
      return send(extender, bindVerb, body).then(
        (answer) => {
          const error = textOf(answer, 'Error');
          return { status: error === '' ? undefined : failure(error) };
        },
        (error: unknown) => ({ status: failure(error instanceof Error ? error.message : String(error)) }),
      );
    },
  };
}
