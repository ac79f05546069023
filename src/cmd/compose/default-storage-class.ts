// The storage class of claims that name none: directories of the nodes.
import { storageclasses } from '../../api/generated/resources.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import type { Client } from '../../client/client.ts';

/** What an administrator made of it stays as it is. */
export async function ensureDefaultStorageClass(client: Client, volumesDir: string): Promise<void> {
  try {
    await client.create(storageclasses, {
      metadata: {
        name: 'local-path',
        annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
      },
      provisioner: 'porthole.dev/local-path',
      parameters: { path: volumesDir },
      reclaimPolicy: 'Delete',
      // The volume is made where the pod goes.
      volumeBindingMode: 'WaitForFirstConsumer',
    });
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
  }
}
