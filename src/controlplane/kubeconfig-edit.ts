// Our entries in a kubeconfig file of somebody else: written to it, and taken out of it again; pure.
import { isObject } from '../apimachinery/json-access.ts';
import { editYaml, type YamlText } from '../base/yaml-edit.ts';
import {
  base64,
  chosenKey,
  configOf,
  type Entry,
  type Fields,
  type KubeconfigFacts,
  kubeconfigText,
} from './kubeconfig-text.ts';

type Kind = 'cluster' | 'user' | 'context';

/** Throws Error when the text is something else. An empty one is a kubeconfig without entries. */
function openConfig(text: string): YamlText {
  const config = editYaml(text);
  const root = config.get([]) ?? {};
  const lists = ['clusters', 'users', 'contexts'].map((list) => config.get([list]) ?? []);
  if (!isObject(root) || !lists.every((list) => Array.isArray(list) && list.every(isObject)))
    throw new Error('it is no kubeconfig');
  return config;
}

const entriesOf = (config: YamlText, kind: Kind): readonly Entry[] =>
  (config.get([`${kind}s`]) as readonly Entry[] | null | undefined) ?? [];

/** `fresh` in the place of the entry of its name; what lies in it beside our fields stays. */
function putEntry(config: YamlText, kind: Kind, fresh: Entry): void {
  const entries = entriesOf(config, kind);
  const found = entries.findIndex(({ name }) => name === fresh.name);
  if (entries.length === 0) config.set([`${kind}s`], [fresh]);
  else if (found < 0) config.set([`${kind}s`, entries.length], fresh);
  else if (!entries[found]![kind]) config.set([`${kind}s`, found], fresh);
  else
    for (const [field, value] of Object.entries(fresh[kind] as Fields))
      config.set([`${kind}s`, found, kind, field], value);
}

const leadsTo = ({ clusterName, userName }: Pick<KubeconfigFacts, 'clusterName' | 'userName'>) => {
  return ({ context }: Entry): boolean => {
    const { cluster, user } = (context ?? {}) as Fields;
    return cluster === clusterName && user === userName;
  };
};

/** Our entries are made anew; a context that leads to them stays as its owner named it. The name of that context. */
function putEntries(config: YamlText, facts: KubeconfigFacts): string {
  const fresh = configOf(facts);
  putEntry(config, 'cluster', fresh.clusters[0]!);
  putEntry(config, 'user', fresh.users[0]!);
  const present = entriesOf(config, 'context').find(leadsTo(facts));
  if (present === undefined) putEntry(config, 'context', fresh.contexts[0]!);
  return present?.name ?? fresh[chosenKey];
}

/**
 * A cluster's own kubeconfig, to which somebody may have written: entries of others, namespaces and the chosen context stay.
 * What is no kubeconfig is replaced.
 */
export function renewedKubeconfig(text: string, facts: KubeconfigFacts): string {
  let config: YamlText;
  try {
    config = openConfig(text);
  } catch {
    return kubeconfigText(facts);
  }
  if (config.get([]) == null) return kubeconfigText(facts);
  const ours = putEntries(config, facts);
  const chosen = config.get([chosenKey]);
  if (!entriesOf(config, 'context').some(({ name }) => name === chosen)) config.set([chosenKey], ours);
  return config.text();
}

/** Somebody's own kubeconfig with this cluster's entries, and its context chosen. Throws Error when it is no kubeconfig. */
export function mergedKubeconfig(text: string, facts: KubeconfigFacts): string {
  const config = openConfig(text);
  // An empty one: clients of other languages look for these two.
  for (const field of ['apiVersion', 'kind'])
    if (config.get([field]) === undefined) config.set([field], configOf(facts)[field]);
  config.set([chosenKey], putEntries(config, facts));
  return config.text();
}

/**
 * Without a cluster's entries and the contexts that lead to it; the choice of one of these is undone. Undefined: the cluster is
 * not in it, or another of that name. Throws Error when it is no kubeconfig.
 */
export function withoutCluster(
  text: string,
  {
    clusterName,
    userName,
    caCertificatePem,
  }: Pick<KubeconfigFacts, 'clusterName' | 'userName' | 'caCertificatePem'>,
): string | undefined {
  const config = openConfig(text);
  const own = entriesOf(config, 'cluster').find(({ name }) => name === clusterName)?.['cluster'];
  if ((own as Fields | undefined)?.['certificate-authority-data'] !== base64(caCertificatePem))
    return undefined;
  const remove = (kind: Kind, isOurs: (entry: Entry) => boolean): void => {
    const entries = entriesOf(config, kind);
    for (let at = entries.length - 1; at >= 0; at--)
      if (isOurs(entries[at]!)) config.delete([`${kind}s`, at]);
  };
  const isOurContext = ({ context }: Entry): boolean =>
    (context as Fields | undefined)?.['cluster'] === clusterName;
  const chosen = config.get([chosenKey]);
  if (entriesOf(config, 'context').some((one) => one.name === chosen && isOurContext(one)))
    config.set([chosenKey], '');
  remove('context', isOurContext);
  remove('cluster', ({ name }) => name === clusterName);
  remove('user', ({ name }) => name === userName);
  return config.text();
}
