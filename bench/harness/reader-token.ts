// A service account that may read config maps by RBAC alone, and a token of it.
import { clusterrolebindings, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';

export async function readerToken(client: Client): Promise<string> {
  const key = { namespace: 'default', name: 'reader' };
  await client.create(serviceaccounts, { metadata: key });
  await client.create(clusterrolebindings, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', ...key }],
  });
  const review = await client.createSubresource(serviceaccounts, key, 'token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  return (review as { readonly status: { readonly token: string } }).status.token;
}
