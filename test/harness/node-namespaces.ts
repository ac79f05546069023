// The namespaces that a node needs of an API server without the bootstrap objects of a control plane.
import { namespaces } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { Client } from '../../src/client/client.ts';

export async function createNodeNamespaces(client: Client): Promise<void> {
  for (const name of ['default', 'kube-node-lease']) {
    try {
      await client.create(namespaces, { metadata: { name }, spec: {} });
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
  }
}
