// Tells tools of the registry beside the cluster, where they look for it: KEP-1755.
import { configmaps } from '../../../api/generated/resources.ts';
import { clientOf } from '../wait-ready.ts';

const namespace = 'kube-public';
const name = 'local-registry-hosting';

/**
 * One name for all: the nodes' runtime has the same. `hostFromClusterNetwork` is where pods push to, and they may not: it is
 * left out, which says so.
 */
const hosting = (port: number): string => `host: "localhost:${port}"\n`;

/** What somebody else wrote into it is replaced: it would be wrong. */
export async function announceRegistry(kubeconfig: string, port: number): Promise<void> {
  const { client, close } = await clientOf(kubeconfig);
  try {
    await client.patch(
      configmaps,
      { namespace, name },
      {
        type: 'apply',
        fieldManager: 'porthole-up',
        force: true,
        body: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace },
          data: { 'localRegistryHosting.v1': hosting(port) },
        },
      },
    );
  } finally {
    await close();
  }
}
