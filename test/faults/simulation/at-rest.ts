// What is not yet as it was asked for: nothing, once all is repaired and some time has passed.
import { findCondition } from '../../../src/apimachinery/conditions.ts';
import { type ClusterModel, isFinished, isGoing, isLive, isReady, ownerUid } from './cluster-model.ts';
import type { SimulatedNode } from './simulated-node.ts';

type Say = (text: string) => void;

function nodesAtRest(model: ClusterModel, nodes: ReadonlyMap<string, SimulatedNode>, say: Say): void {
  for (const name of nodes.keys()) {
    const node = model.get('core/nodes', name);
    if (node === undefined) say(`node ${name} is gone`);
    else if (findCondition(node.status?.conditions, 'Ready')?.status !== 'True')
      say(`node ${name} is not Ready`);
    else if ((node.spec.taints ?? []).length > 0) say(`node ${name} has ${JSON.stringify(node.spec.taints)}`);
  }
}

function workloadsAtRest(model: ClusterModel, say: Say): void {
  const same = (what: string, wanted: unknown, found: Record<string, unknown>): void => {
    for (const [name, value] of Object.entries(found))
      if (value !== wanted) say(`${what}: ${name} is ${String(value)}, not ${String(wanted)}`);
  };
  for (const { metadata, spec, status } of model.list('apps/deployments')) {
    const wanted = spec.replicas ?? 1;
    same(metadata.name!, metadata.generation, { observedGeneration: status?.observedGeneration });
    const { availableReplicas = 0, replicas = 0, updatedReplicas = 0 } = status ?? {};
    const live = model
      .replicaSetsOf(metadata.uid!)
      .flatMap((set) => model.podsOf(set.metadata.uid!))
      .filter((pod) => !isFinished(pod)).length;
    same(metadata.name!, wanted, { availableReplicas, replicas, updatedReplicas, pods: live });
  }
  for (const { metadata, spec, status } of model.list('apps/statefulsets')) {
    const wanted = spec.replicas ?? 1;
    const { currentReplicas = 0, readyReplicas = 0, replicas = 0 } = status ?? {};
    same(metadata.name!, metadata.generation, { observedGeneration: status?.observedGeneration });
    same(metadata.name!, wanted, {
      currentReplicas,
      readyReplicas,
      replicas,
      pods: model.podsOf(metadata.uid!).length,
    });
    if (status?.currentRevision !== status?.updateRevision) say(`${metadata.name}: its update has not ended`);
  }
  for (const { metadata, spec, status } of model.list('apps/daemonsets')) {
    const os = spec.template.spec?.nodeSelector?.['kubernetes.io/os'];
    const wanted = model
      .list('core/nodes')
      .filter((node) => node.metadata.labels?.['kubernetes.io/os'] === os).length;
    const { desiredNumberScheduled, numberReady, updatedNumberScheduled = 0, numberMisscheduled } = status!;
    same(metadata.name!, metadata.generation, { observedGeneration: status?.observedGeneration });
    same(metadata.name!, wanted, {
      desiredNumberScheduled,
      numberReady,
      updatedNumberScheduled,
      pods: model.podsOf(metadata.uid!).length,
    });
    same(metadata.name!, 0, { numberMisscheduled });
  }
  for (const { metadata, status } of model.list('batch/jobs'))
    if (findCondition(status?.conditions, 'Complete')?.status !== 'True')
      say(`${metadata.name} is not complete`);
}

function podsAtRest(model: ClusterModel, say: Say): void {
  for (const pod of model.list('core/pods')) {
    const name = `pod ${pod.metadata.name}`;
    if (isGoing(pod)) say(`${name} is still going`);
    else if (isLive(pod) && pod.spec.nodeName === undefined) say(`${name} is bound to no node`);
    else if (isLive(pod) && !isReady(pod)) say(`${name} is not ready`);
    else if (isLive(pod) && ownerUid(pod) === undefined) say(`${name} has no owner`);
  }
}

/** Each Service leads to the ready pods of its selector. */
function endpointsAtRest(model: ClusterModel, say: Say): void {
  const ready = model.list('core/pods').filter((pod) => isLive(pod) && isReady(pod));
  for (const { metadata, spec } of model.list('core/services')) {
    const app = spec?.selector?.['app'];
    if (app === undefined) continue;
    const wanted = ready
      .filter((pod) => pod.metadata.labels?.['app'] === app)
      .map((pod) => pod.status!.podIP!);
    const found = model
      .list('discovery.k8s.io/endpointslices')
      .filter((slice) => slice.metadata!.labels?.['kubernetes.io/service-name'] === metadata!.name)
      .flatMap((slice) => (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready === true))
      .flatMap(({ addresses }) => addresses);
    if (wanted.sort().join() !== [...found].sort().join())
      say(`service ${metadata!.name} leads to ${found.join() || 'nobody'}, not ${wanted.join()}`);
  }
}

/** What a budget says of itself is so. */
function budgetsAtRest(model: ClusterModel, say: Say): void {
  const live = model.list('core/pods').filter(isLive);
  for (const { metadata, spec, status } of model.list('policy/poddisruptionbudgets')) {
    const app = spec?.selector?.matchLabels?.['app'];
    const healthy = live.filter((pod) => isReady(pod) && pod.metadata.labels?.['app'] === app).length;
    if (status?.currentHealthy !== healthy)
      say(`budget ${metadata!.name} counts ${status?.currentHealthy} healthy pods, not ${healthy}`);
  }
}

function orphans(model: ClusterModel, say: Say): void {
  const alive = new Set([...model.owners.values()].map(({ uid }) => uid));
  for (const [key, { owners }] of model.owners)
    if (owners.length > 0 && !owners.some((uid) => alive.has(uid))) say(`${key} is an orphan`);
}

/** Each node runs what the API says of it, and nothing else. */
async function runtimesAtRest(
  model: ClusterModel,
  nodes: ReadonlyMap<string, SimulatedNode>,
  say: Say,
): Promise<void> {
  for (const [name, { cri }] of nodes) {
    const running = (await cri.runtime.listPodSandbox()).filter(({ state }) => state === 'SANDBOX_READY');
    const found = running.map(({ metadata }) => metadata!.uid!).sort();
    const wanted = model
      .podsOn(name)
      .filter(isLive)
      .map(({ metadata }) => metadata.uid!)
      .sort();
    if (found.join() !== wanted.join())
      say(`${name} runs ${found.join() || 'nothing'}, not ${wanted.join()}`);
  }
}

export async function unmet(
  model: ClusterModel,
  nodes: ReadonlyMap<string, SimulatedNode>,
): Promise<readonly string[]> {
  const said: string[] = [];
  const say: Say = (text) => void said.push(text);
  nodesAtRest(model, nodes, say);
  workloadsAtRest(model, say);
  podsAtRest(model, say);
  endpointsAtRest(model, say);
  budgetsAtRest(model, say);
  orphans(model, say);
  await runtimesAtRest(model, nodes, say);
  return said;
}
