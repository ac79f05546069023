// Asks for what the metrics of an autoscaler are: metrics.k8s.io, custom.metrics.k8s.io and external.metrics.k8s.io, whoever serves them.
import { podsMetricsK8sIo } from '../../api/generated/resources.ts';
import type { HorizontalPodAutoscaler, MetricSpec } from '../../api/generated/types/autoscaling-v2.ts';
import type { LabelSelector } from '../../api/generated/types/meta-v1.ts';
import type { PodMetrics as PodUsage } from '../../api/generated/types/metrics-v1beta1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { selectorFrom, selectorText } from '../../apimachinery/label-selector.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { readGoDuration } from '../../base/go-duration.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import type { KeptDiscovery } from './kept-discovery.ts';
import type { Measured } from './metric-proposals.ts';
import { type Answer, milli, type PodMetric, type PodMetrics } from './replica-calculator.ts';

export const customMetrics = 'custom.metrics.k8s.io';
export const externalMetrics = 'external.metrics.k8s.io';

/** Of both of its versions. */
interface MetricValue {
  readonly describedObject?: { readonly name?: string } | undefined;
  readonly timestamp?: string | undefined;
  readonly windowSeconds?: number | undefined;
  readonly window?: number | undefined;
  readonly value?: string | number | undefined;
}
type Asked = Pick<ResourceRef, 'group' | 'resource'>;

interface MetricValues {
  readonly items?: readonly MetricValue[];
}

/** As client-go tells an answer that says nothing itself. */
function why(error: unknown, { group, resource }: Asked, name?: string): string {
  const text = error instanceof Error ? error.message : String(error);
  const isGeneric =
    isStatusError(error) && text.startsWith('the server ') && error.status.details?.kind === undefined;
  return isGeneric ? `${text} (get ${resource}.${group}${name === undefined ? '' : ` ${name}`})` : text;
}

const msOf = (time: string | undefined): number => Date.parse(time ?? '') || 0;
const windowOf = (window: string): number => {
  const ms = readGoDuration(window);
  return typeof ms === 'number' ? ms : 0;
};

/** All or nothing of each pod. */
function usageOfPods(items: readonly PodUsage[], resource: string): PodMetrics {
  const found = new Map<string, PodMetric>();
  for (const { metadata, containers, timestamp, window } of items) {
    const values = containers.map(({ usage }) => usage[resource]);
    if (values.length === 0 || values.includes(undefined as never)) continue;
    const value = values.reduce<number>((sum, one) => sum + milli(one), 0);
    found.set(metadata.name, { value, atMs: msOf(timestamp), windowMs: windowOf(window) });
  }
  return found;
}

function usageOfContainers(
  items: readonly PodUsage[],
  resource: string,
  container: string,
): Answer<PodMetrics> {
  const found = new Map<string, PodMetric>();
  for (const { metadata, containers, timestamp, window } of items) {
    const one = containers.find(({ name }) => name === container);
    if (one === undefined)
      return `failed to get container metrics: container ${container} not present in metrics for pod ${metadata.namespace}/${metadata.name}`;
    const value = one.usage[resource];
    if (value !== undefined)
      found.set(metadata.name, {
        value: milli(value),
        atMs: msOf(timestamp),
        windowMs: windowOf(window),
      });
  }
  return found;
}

const from = (which: string, text: string): string =>
  `unable to fetch metrics from ${which} metrics API: ${text}`;
const none = (which: string): string => `no metrics returned from ${which} metrics API`;

const usualWindowMs = 60_000;

export class Measurements {
  readonly #context: ControllerContext;
  readonly #namespace: string;
  /** Of the target's pods. */
  readonly #selector: string;
  #usage: Promise<Answer<readonly PodUsage[]>> | undefined;
  readonly #discovery: KeptDiscovery;

  constructor(
    context: ControllerContext,
    discovery: KeptDiscovery,
    { metadata }: HorizontalPodAutoscaler,
    selector: string,
  ) {
    this.#context = context;
    this.#discovery = discovery;
    this.#namespace = metadata.namespace ?? '';
    this.#selector = selector;
  }

  async of({ type, resource, containerResource, pods, object, external }: MetricSpec): Promise<Measured> {
    if (type === 'Resource' && resource) {
      const items = await this.#usageOfPods();
      return typeof items === 'string' ? items : usageOfPods(items, resource.name);
    }
    if (type === 'ContainerResource' && containerResource) {
      const items = await this.#usageOfPods();
      const { name, container } = containerResource;
      return typeof items === 'string' ? items : usageOfContainers(items, name, container);
    }
    if (type === 'Pods' && pods) return this.#ofPods(pods.metric);
    if (type === 'Object' && object) return this.#ofObject(object);
    if (type === 'External' && external) return this.#external(external.metric);
    return '';
  }

  /** Asked once for all metrics of an autoscaler. */
  #usageOfPods(): Promise<Answer<readonly PodUsage[]>> {
    this.#usage ??= (async () => {
      try {
        const how = { namespace: this.#namespace, labelSelector: this.#selector };
        const { items } = await this.#context.write.list(podsMetricsK8sIo, how);
        return items.length === 0 ? none('resource') : items;
      } catch (error) {
        return from('resource', why(error, podsMetricsK8sIo));
      }
    })();
    return this.#usage;
  }

  async #custom(
    group: string,
    kind: string,
    key: { readonly name: string; readonly metric: string },
    query: Readonly<Record<string, string>>,
  ): Promise<Answer<readonly MetricValue[]>> {
    let title = kind;
    try {
      const { resources, versions } = await this.#discovery.with(
        (one) =>
          one.versions.has(customMetrics) &&
          one.resources.some((resource) => resource.group === group && resource.kind === kind),
      );
      const version = ['v1beta2', 'v1beta1'].find((one) => versions.get(customMetrics)?.includes(one));
      if (version === undefined) return from('custom', `no custom metrics API (${customMetrics}) registered`);
      const found = resources.find((one) => one.group === group && one.kind === kind);
      if (found === undefined) {
        const what = `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`;
        return from(
          'custom',
          `unable to map kind ${group === '' ? kind : `${kind}.${group}`} to resource: ${what}`,
        );
      }
      const isNamespace = group === '' && kind === 'Namespace';
      title = found.group === '' ? found.resource : `${found.resource}.${found.group}`;
      const ref = { ...{ group: customMetrics, version, kind: 'MetricValueList' }, resource: title };
      // A namespace is described by itself: nobody may ask for another one.
      const [resource, name, subresource] = isNamespace
        ? [{ ...ref, namespaced: false }, this.#namespace, `metrics/${key.metric}`]
        : [{ ...ref, namespaced: true }, key.name, key.metric];
      const values = await this.#context.write.get(
        resource as ResourceRef<MetricValues>,
        { name, ...(isNamespace ? {} : { namespace: this.#namespace }) },
        { subresource, query },
      );
      return values.items ?? [];
    } catch (error) {
      return from('custom', why(error, { group: customMetrics, resource: title }, key.name));
    }
  }

  async #ofPods(metric: {
    readonly name: string;
    readonly selector?: LabelSelector | undefined;
  }): Promise<Measured> {
    const query = { labelSelector: this.#selector, metricLabelSelector: selected(metric.selector) };
    const values = await this.#custom('', 'Pod', { name: '*', metric: metric.name }, query);
    if (typeof values === 'string') return values;
    if (values.length === 0) return none('custom');
    return new Map(
      values.map(({ describedObject, timestamp, windowSeconds, window, value }) => {
        const seconds = windowSeconds ?? window;
        const windowMs = seconds === undefined ? usualWindowMs : seconds * 1000;
        return [describedObject?.name ?? '', { value: milli(value), atMs: msOf(timestamp), windowMs }];
      }),
    );
  }

  async #ofObject({ describedObject, metric }: NonNullable<MetricSpec['object']>): Promise<Measured> {
    const { kind, name, apiVersion = '' } = describedObject;
    const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
    const query = { metricLabelSelector: selected(metric.selector) };
    const values = await this.#custom(group, kind, { name, metric: metric.name }, query);
    if (typeof values === 'string') return values;
    const [value] = values;
    if (value === undefined || values.length > 1)
      return from(
        'custom',
        `the custom metrics API server returned ${values.length} results when we asked for exactly one`,
      );
    return milli(value.value);
  }

  async #external(metric: {
    readonly name: string;
    readonly selector?: LabelSelector | undefined;
  }): Promise<Measured> {
    const resource = {
      ...{ group: externalMetrics, version: 'v1beta1', kind: 'ExternalMetricValueList' },
      ...{ resource: metric.name, namespaced: true },
    } as ResourceRef<MetricValue>;
    try {
      const how = { namespace: this.#namespace, labelSelector: selected(metric.selector) };
      const { items = [] } = await this.#context.write.list(resource, how);
      if (items.length === 0) return none('external');
      return items.reduce((sum, { value }) => sum + milli(value), 0);
    } catch (error) {
      return from('external', why(error, resource));
    }
  }
}

/** '' for one that says nothing. */
const selected = (selector: LabelSelector | undefined): string =>
  selector === undefined ? '' : selectorText(selectorFrom(selector));
