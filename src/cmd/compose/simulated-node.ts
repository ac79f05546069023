// A node whose pods are state machines: a real kubelet over a simulated runtime.
import { nodes } from '../../api/generated/resources.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { type Kubelet, type KubeletOptions, startKubelet } from '../../kubelet/kubelet.ts';
import { createSimulatedCri, simulatedLabels } from '../../kubelet/simulated/simulated-cri.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { nodeLayout } from '../cluster/node-layout.ts';
import { nodeOsOf } from './node-os.ts';

/** The node's pod CIDR, once the control plane has assigned it. */
async function assignedPodCidr(client: Client, nodeName: string): Promise<string> {
  for (;;) {
    const node = await client.get(nodes, { name: nodeName });
    if (node.spec.podCIDR) return node.spec.podCIDR;
    await systemClock.sleep(200);
  }
}

export interface SimulatedRuntimeOptions {
  readonly client: Client;
  readonly name: string;
  readonly dataDir: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild?: number | undefined;
  readonly windowsTaint?: boolean | undefined;
}

/** What a kubelet needs to know of a runtime that runs nothing. */
export async function simulatedRuntime(
  options: SimulatedRuntimeOptions,
): Promise<Pick<KubeletOptions, 'cri' | 'nodeOs' | 'simulated'>> {
  const { client, name } = options;
  return {
    cri: createSimulatedCri({
      clock: systemClock,
      random: systemRandom,
      podCidr: () => assignedPodCidr(client, name),
      version: version.gitVersion,
    }),
    nodeOs: await nodeOsOf(
      {
        os: options.os,
        windowsBuild: options.windowsBuild ?? 20348,
        hostDrive: nodeLayout(options.dataDir).hostDrive,
        windowsTaint: options.windowsTaint,
        labels: simulatedLabels,
      },
      createLinuxHost(),
    ),
    simulated: true,
  };
}

export interface SimulatedNodeOptions extends SimulatedRuntimeOptions {
  readonly informers: InformerFactory;
  readonly dns: { readonly server: string; readonly domain: string };
  readonly log: Logger;
}

/** A node without a server of its own: no logs, no exec. */
export async function simulatedNode(options: SimulatedNodeOptions): Promise<{ stop(): Promise<void> }> {
  const { client, informers, log, name, dataDir } = options;
  const kubelet: Kubelet = await startKubelet({
    ...(await simulatedRuntime(options)),
    client,
    informers,
    host: createLinuxHost(),
    clock: systemClock,
    random: systemRandom,
    log,
    nodeName: name,
    nodeIPs: ['127.0.0.1'],
    paths: { root: dataDir, logs: dataDir },
    dns: {
      servers: [options.dns.server],
      domain: options.dns.domain,
      host: { servers: [], searches: [], options: [] },
    },
    version: version.gitVersion,
  });
  return {
    stop: async () => {
      await kubelet.stop();
      await informers.stop();
    },
  };
}
