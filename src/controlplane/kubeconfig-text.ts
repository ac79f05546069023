// Writes kubeconfig files with everything inside: server, CA, client certificate and key.
import { parseYaml, toYaml } from '../base/yaml.ts';
import type { KeyPairPem } from '../crypto/certificates.ts';

export interface KubeconfigFacts {
  readonly clusterName: string;
  readonly userName: string;
  readonly server: string;
  readonly caCertificatePem: string;
  /** A file holds certificate and key, and is replaced when they are renewed. */
  readonly credentials: KeyPairPem | { readonly file: string };
}

type Fields = Readonly<Record<string, unknown>>;
type Entry = Fields & { readonly name: string };
interface Config extends Fields {
  readonly clusters: readonly Entry[];
  readonly users: readonly Entry[];
  readonly contexts: readonly Entry[];
  readonly 'current-context': string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const kubeconfigText = (facts: KubeconfigFacts): string => toYaml(configOf(facts));

function configOf(facts: KubeconfigFacts): Config {
  const { clusterName, userName } = facts;
  const context = `${userName}@${clusterName}`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: clusterName,
        cluster: {
          'certificate-authority-data': base64(facts.caCertificatePem),
          server: facts.server,
        },
      },
    ],
    users: [
      {
        name: userName,
        user:
          'file' in facts.credentials
            ? { 'client-certificate': facts.credentials.file, 'client-key': facts.credentials.file }
            : {
                'client-certificate-data': base64(facts.credentials.certificatePem),
                'client-key-data': base64(facts.credentials.privateKeyPem),
              },
      },
    ],
    contexts: [{ name: context, context: { cluster: clusterName, user: userName } }],
    'current-context': context,
    preferences: {},
  };
}

/** `fresh` in the place of the entries of its name; what lies in `kind` beside its fields stays. */
function withEntry(entries: readonly Entry[], fresh: Entry, kind: string): Entry[] {
  const merged = (has: Entry): Entry => ({
    ...has,
    [kind]: { ...(has[kind] as Fields | undefined), ...(fresh[kind] as Fields) },
  });
  return entries.some(({ name }) => name === fresh.name)
    ? entries.map((one) => (one.name === fresh.name ? merged(one) : one))
    : [...entries, fresh];
}

function readConfig(text: string): Config | undefined {
  try {
    const config = parseYaml(text) as Config | null;
    const lists = [config?.clusters, config?.users, config?.contexts];
    return config && lists.every((list) => Array.isArray(list)) ? config : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A kubeconfig that somebody may have written to: its entry of this cluster and this user is made anew; others, namespaces
 * and the chosen context stay. What is no kubeconfig is replaced.
 */
export function renewedKubeconfig(text: string, facts: KubeconfigFacts): string {
  const has = readConfig(text);
  const fresh = configOf(facts);
  if (!has) return toYaml(fresh);
  const isOurs = ({ context }: Entry): boolean => {
    const { cluster, user } = (context ?? {}) as Fields;
    return cluster === facts.clusterName && user === facts.userName;
  };
  const contexts = has.contexts.some(isOurs) ? has.contexts : [...has.contexts, ...fresh.contexts];
  const chosen = has['current-context'];
  return toYaml({
    ...has,
    clusters: withEntry(has.clusters, fresh.clusters[0]!, 'cluster'),
    users: withEntry(has.users, fresh.users[0]!, 'user'),
    contexts,
    'current-context': contexts.some(({ name }) => name === chosen) ? chosen : fresh['current-context'],
  });
}
