// Service accounts of the benchmarks: each may do by RBAC alone what its role allows, and has a token.
import { clusterrolebindings, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';

/** Of a new account without any role. */
export async function accountToken(
  client: Client,
  key: { readonly namespace: string; readonly name: string },
): Promise<string> {
  await client.create(serviceaccounts, { metadata: key });
  const review = await client.createSubresource(serviceaccounts, key, 'token', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });
  return (review as { readonly status: { readonly token: string } }).status.token;
}

/** It may read config maps, and everything else that is no secret. */
export async function readerToken(client: Client): Promise<string> {
  const key = { namespace: 'default', name: 'reader' };
  await client.create(clusterrolebindings, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', ...key }],
  });
  return accountToken(client, key);
}
