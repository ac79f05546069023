// Tells tools of the registry beside the cluster, where they look for it: KEP-1755.
import { readFile } from 'node:fs/promises';
import { configmaps } from '../../../api/generated/resources.ts';
import { createClient } from '../../../client/create-client.ts';
import { loadKubeconfig } from '../../../client/kubeconfig.ts';
import { httpTransport } from '../../../client/transport-http.ts';
import { systemClock } from '../../../component-base/system-clock.ts';

const namespace = 'kube-public';
const name = 'local-registry-hosting';

/**
 * One name for all: the nodes' runtime has the same. `hostFromClusterNetwork` is where pods push to, and they may not: it is
 * left out, which says so.
 */
const hosting = (port: number): string => `host: "localhost:${port}"\n`;

/** What somebody else wrote into it is replaced: it would be wrong. */
export async function announceRegistry(kubeconfig: string, port: number): Promise<void> {
  const { transport } = await loadKubeconfig(kubeconfig, (path) => readFile(path));
  const open = httpTransport(systemClock, transport);
  try {
    await createClient(open).patch(
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
    await open.close();
  }
}
