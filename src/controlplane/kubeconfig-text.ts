// Writes kubeconfig files with everything inside: server, CA, client certificate and key.
import { toYaml } from '../base/yaml.ts';
import type { KeyPairPem } from '../crypto/certificates.ts';

export interface KubeconfigFacts {
  readonly clusterName: string;
  readonly userName: string;
  readonly server: string;
  readonly caCertificatePem: string;
  /** A file holds certificate and key, and is replaced when they are renewed. */
  readonly credentials: KeyPairPem | { readonly file: string };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export function kubeconfigText(facts: KubeconfigFacts): string {
  const { clusterName, userName } = facts;
  const context = `${userName}@${clusterName}`;
  return toYaml({
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
  });
}
