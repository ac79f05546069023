// metrics.k8s.io: nodes and pods by what they use, in metrics-server's forms and words.
import { nodes, nodesMetricsK8sIo, pods, podsMetricsK8sIo } from '../../api/generated/resources.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { notFound } from '../../apimachinery/errors.ts';
import { formatQuantity, quantityOf } from '../../apimachinery/quantity.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { readListOptions } from '../../apiserver/endpoints/list-options.ts';
import {
  type RestHandler,
  type RestRequest,
  type RestStorage,
  restKey,
} from '../../apiserver/registry/rest-storage.ts';
import { rfc3339 } from '../../base/clock.ts';
import { formatGoDuration } from '../../base/go-duration.ts';
import { Slice, type Turns } from '../../base/turns.ts';
import { simulatedNodeLabel } from '../../component-helpers/simulated-nodes.ts';
import type { CachedObject, IndexRecord } from '../../storage/watch/resource-cache.ts';
import { type Pretended, pretendedNodeUsage, pretendedOf, pretendedPodUsage } from './pretended-usage.ts';
import { type NodePoints, type PodUsage, type Usage, usageOfNode, usageOfPod } from './usage-points.ts';

/** What kubelets say. */
export interface KubeletReadings {
  /** Resolves when something is known: kubelets are asked only while somebody wants to know. */
  ready(): Promise<void>;
  of(nodeName: string): NodePoints | undefined;
}

export interface UsageDeps {
  readonly readings: KubeletReadings;
  readonly turns: Turns;
}

type Store = (group: string, resource: string) => ReturnType<RestRequest['store']>;

const apiVersion = 'metrics.k8s.io/v1beta1';
const nodeNameOf = ({ fields }: IndexRecord): string => fields['spec.nodeName'] ?? '';
const isSimulated = ({ labels }: IndexRecord): boolean => labels[simulatedNodeLabel] === 'true';

/** By the stored version of a pod: it is parsed once. */
const pretended = new WeakMap<CachedObject, { readonly of: Pretended | undefined }>();

function pretendedBy(entry: CachedObject, store: Store): Pretended | undefined {
  const known = pretended.get(entry);
  if (known !== undefined) return known.of;
  const of = pretendedOf(store(pods.group, pods.resource).served(entry.value));
  pretended.set(entry, { of });
  return of;
}

interface Asked {
  readonly store: Store;
  readonly readings: KubeletReadings;
  readonly nowMs: number;
}

/** Only what the kubelet of its own node says of a pod counts: another one might say it of any. */
function usedByPod(entry: CachedObject, { store, readings, nowMs }: Asked): PodUsage | undefined {
  const { namespace, name } = entry.index;
  const nodeName = nodeNameOf(entry.index);
  const node = nodeName === '' ? undefined : store(nodes.group, nodes.resource).cache.get('', nodeName);
  if (node === undefined) return undefined;
  if (!isSimulated(node.index)) return usageOfPod(readings.of(nodeName), `${namespace}/${name}`);
  const pretends = pretendedBy(entry, store);
  return pretends && pretendedPodUsage(pretends, nowMs);
}

function usedByNode({ index }: CachedObject, { store, readings, nowMs }: Asked): Usage | undefined {
  if (!isSimulated(index)) return usageOfNode(readings.of(index.name));
  const exactField = { name: 'spec.nodeName', value: index.name };
  const matches = (pod: IndexRecord): boolean => nodeNameOf(pod) === index.name;
  const { items } = store(pods.group, pods.resource).cache.list({
    namespace: '',
    exactField,
    matches,
    limit: 0,
  });
  return pretendedNodeUsage(
    items.map((pod) => pretendedBy(pod, store)).filter((one) => one !== undefined),
    nowMs,
  );
}

const usageMap = ({
  cpuNanoCores,
  memoryBytes,
}: Pick<Usage, 'cpuNanoCores' | 'memoryBytes'>): JsonObject => ({
  cpu: formatQuantity({ nano: BigInt(cpuNanoCores), format: 'DecimalSI' }),
  memory: formatQuantity(quantityOf(memoryBytes, 'BinarySI')),
});

function shown(
  { name, namespace, labels }: IndexRecord,
  { atMs, windowMs }: Pick<Usage, 'atMs' | 'windowMs'>,
  nowMs: number,
): JsonObject {
  return {
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      creationTimestamp: rfc3339(nowMs),
      ...(Object.keys(labels).length === 0 ? {} : { labels: { ...labels } }),
    },
    timestamp: rfc3339(atMs),
    window: formatGoDuration(windowMs),
  };
}

interface Measured {
  readonly resource: ResourceRef;
  /** Of what there is, with whose names and labels it is told. */
  readonly source: ResourceRef;
  show(entry: CachedObject, asked: Asked): JsonObject | undefined;
  /** As it is called where nothing is known of it. */
  unknownName(index: IndexRecord): string;
}

const ofNodes: Measured = {
  resource: nodesMetricsK8sIo,
  source: nodes,
  show(entry, asked) {
    const used = usedByNode(entry, asked);
    return used && { ...shown(entry.index, used, asked.nowMs), usage: usageMap(used) };
  },
  unknownName: ({ name }) => name,
};

const ofPods: Measured = {
  resource: podsMetricsK8sIo,
  source: pods,
  show(entry, asked) {
    const used = usedByPod(entry, asked);
    return (
      used && {
        ...shown(entry.index, used, asked.nowMs),
        containers: used.containers.map((one) => ({ name: one.name, usage: usageMap(one) })),
      }
    );
  },
  unknownName: ({ namespace, name }) => `${namespace}/${name}`,
};

function found({ context, declaration, namespace, store }: RestRequest, source: ResourceRef) {
  const { matches, name } = readListOptions(context.query, declaration, 'list', context.info.name);
  const { cache } = store(source.group, source.resource);
  const isOne = name !== '' && (namespace !== '' || !declaration.namespaced);
  return cache.list({ namespace, matches, ...(isOne ? { name } : {}), limit: 0 }).items;
}

function handlerOf({ resource, source, show, unknownName }: Measured, deps: UsageDeps): RestHandler {
  const { readings, turns } = deps;
  return {
    async list(request) {
      const { clock, store } = request;
      // Selectors that can't be read are refused before anybody waits.
      found(request, source);
      await readings.ready();
      const asked = { store, readings, nowMs: clock.now() };
      const slice = new Slice(turns, () => clock.monotonic());
      const items: JsonObject[] = [];
      for (const entry of found(request, source)) {
        if (slice.over) await slice.next();
        const item = show(entry, asked);
        if (item !== undefined) items.push(item);
      }
      return { status: 200, object: { kind: `${resource.kind}List`, apiVersion, metadata: {}, items } };
    },
    async get({ namespace, name, clock, store }) {
      const { cache } = store(source.group, source.resource);
      if (cache.get(namespace, name) === undefined) throw notFound(source, name);
      await readings.ready();
      const entry = cache.get(namespace, name);
      if (entry === undefined) throw notFound(source, name);
      const object = show(entry, { store, readings, nowMs: clock.now() });
      if (object === undefined)
        throw notFound(
          { group: resource.group, resource: resource.kind.toLowerCase() },
          unknownName(entry.index),
        );
      return { status: 200, object: { kind: resource.kind, apiVersion, ...object } };
    },
  };
}

export const usageStorage = (deps: UsageDeps): RestStorage =>
  new Map(
    [ofNodes, ofPods].map((one) => [
      restKey(one.resource.group, one.resource.resource),
      handlerOf(one, deps),
    ]),
  );
