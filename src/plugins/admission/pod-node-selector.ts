// PodNodeSelector: a namespace says on which nodes its pods run, and the administrator which it may choose from.
import { namespaces, pods } from '../../api/generated/resources.ts';
import type { Namespace } from '../../api/generated/types/core-v1.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../apimachinery/labels.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { plainRefusal } from './request/plain-refusal.ts';
import { refuse } from './request/refuse.ts';
import { requested } from './request/typed-request.ts';

const annotation = 'scheduler.alpha.kubernetes.io/node-selector';
const clusterDefault = 'clusterDefaultNodeSelector';

type Selector = ReadonlyMap<string, string>;
/** By namespace, and what holds for namespaces that say nothing. */
export type NodeSelectors = Readonly<Record<string, string>>;

/** `podNodeSelectorPluginConfig` of an unversioned file. Throws for one that upstream would leave out in silence. */
export function readNodeSelectors(config: unknown): NodeSelectors {
  if (config === undefined || config === null) return {};
  const selectors = isObject(config as never)
    ? (config as Record<string, unknown>)['podNodeSelectorPluginConfig']
    : undefined;
  if (selectors === undefined || selectors === null) return {};
  const entries = isObject(selectors as never) ? Object.entries(selectors) : undefined;
  if (entries === undefined || entries.some(([, value]) => typeof value !== 'string'))
    throw new Error('podNodeSelectorPluginConfig must map namespaces to node selectors');
  return Object.fromEntries(entries) as Record<string, string>;
}

/** `a=b,c=d`, as upstream reads it. */
function selectorOf(text: string): Selector {
  const selector = new Map<string, string>();
  if (text === '') return selector;
  for (const label of text.split(',')) {
    const parts = label.split('=');
    const [key = '', value = ''] = parts.map((part) => part.trim());
    if (parts.length !== 2) throw plainRefusal(`invalid selector: [${parts.join(' ')}]`);
    const errors = [...qualifiedNameErrors(key), ...labelValueErrors(value)];
    if (errors.length > 0)
      throw plainRefusal(`<nil>: Invalid value: ${JSON.stringify(key)}: ${errors.join('; ')}`);
    selector.set(key, value);
  }
  return selector;
}

const own = (texts: NodeSelectors, name: string): string =>
  (Object.hasOwn(texts, name) ? texts[name] : undefined) ?? '';

export function createPodNodeSelector(live: LiveObjects, selectors: NodeSelectors): AdmissionPlugin {
  const wantedBy = (namespace: Namespace | undefined, name: string): Selector => {
    if (namespace === undefined) throw plainRefusal(`namespace ${name} does not exist`);
    const said = namespace.metadata?.annotations ?? {};
    return selectorOf(
      Object.hasOwn(said, annotation) ? (said[annotation] ?? '') : own(selectors, clusterDefault),
    );
  };
  const check = (request: AdmissionRequest, nodeSelector: Readonly<Record<string, string>>): void => {
    const allowed = selectorOf(own(selectors, request.namespace));
    if (allowed.size === 0) return;
    if (Object.entries(nodeSelector).some(([key, value]) => allowed.get(key) !== value))
      refuse(request, 'pod node label selector labels conflict with its namespace whitelist');
  };
  const merged = (request: AdmissionRequest): Readonly<Record<string, string>> | undefined => {
    const spec = requested(request, pods)?.spec;
    if (spec === undefined) return undefined;
    const wanted = wantedBy(live.get(namespaces, request.namespace), request.namespace);
    const said = Object.entries(spec.nodeSelector ?? {}) as [string, string][];
    if (said.some(([key, value]) => (wanted.get(key) ?? value) !== value))
      refuse(request, 'pod node label selector conflicts with its namespace node label selector');
    return Object.fromEntries([...wanted, ...said]);
  };
  return {
    name: 'PodNodeSelector',
    operations: ['CREATE'],
    admit(request) {
      const nodeSelector = merged(request);
      if (nodeSelector === undefined) return;
      check(request, nodeSelector);
      const spec = requested(request, pods)?.spec;
      if (spec !== undefined && Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...nodeSelector };
    },
    validate(request) {
      // What came after this plugin may have changed it.
      if (merged(request) !== undefined)
        check(request, (requested(request, pods)?.spec?.nodeSelector as never) ?? {});
    },
  };
}
