// A kubeconfig file with everything inside; pure.
import { writeYaml } from '../base/yaml-writer.ts';
import type { KeyPairPem } from '../crypto/certificates.ts';

export interface KubeconfigFacts {
  readonly clusterName: string;
  readonly userName: string;
  /** Default: user@cluster. */
  readonly contextName?: string;
  readonly server: string;
  readonly caCertificatePem: string;
  /** A file holds certificate and key, and is replaced when they are renewed. */
  readonly credentials: KeyPairPem | { readonly file: string };
}

export type Fields = Readonly<Record<string, unknown>>;
export type Entry = Fields & { readonly name: string };
export interface Config extends Fields {
  readonly clusters: readonly Entry[];
  readonly users: readonly Entry[];
  readonly contexts: readonly Entry[];
  readonly 'current-context': string;
}

export const chosenKey = 'current-context';
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const kubeconfigText = (facts: KubeconfigFacts): string => writeYaml(configOf(facts));

export function configOf(facts: KubeconfigFacts): Config {
  const { clusterName, userName } = facts;
  const context = facts.contextName ?? `${userName}@${clusterName}`;
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
    [chosenKey]: context,
    preferences: {},
  };
}
