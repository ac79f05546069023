// A node whose pods are state machines: a real kubelet over a simulated runtime.
import { rmSync, writeFileSync } from 'node:fs';
import { nodes } from '../../api/generated/resources.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { type Kubelet, startKubelet } from '../../kubelet/kubelet.ts';
import { createSimulatedCri, simulatedLabels } from '../../kubelet/simulated/simulated-cri.ts';
import { createSimulatedRuntime } from '../../kubelet/simulated/simulated-runtime.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { kubeletPortFile, nodeLayout } from '../cluster/node-layout.ts';
import { nodeOsOf } from './node-os.ts';
import type { NodeRuntimeDriver, OpenedRuntime } from './node-runtime-driver.ts';

/** The node's pod CIDR, once the control plane has assigned it. */
async function assignedPodCidr(client: Client, nodeName: string): Promise<string> {
  for (;;) {
    const node = await client.get(nodes, { name: nodeName });
    if (node.spec.podCIDR) return node.spec.podCIDR;
    await systemClock.sleep(200);
  }
}

interface SimulatedRuntimeOptions {
  readonly client: Client;
  readonly name: string;
  readonly dataDir: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild?: number | undefined;
  readonly windowsTaint?: boolean | undefined;
}

const host = createLinuxHost();

async function simulation(options: SimulatedRuntimeOptions): Promise<OpenedRuntime['kubelet']> {
  const { client, name } = options;
  const cri = createSimulatedCri({
    clock: systemClock,
    random: systemRandom,
    podCidr: () => assignedPodCidr(client, name),
    version: version.gitVersion,
  });
  const nodeOs = await nodeOsOf(
    {
      os: options.os,
      simulated: true,
      windowsBuild: options.windowsBuild ?? 20348,
      hostDrive: nodeLayout(options.dataDir).hostDrive,
      windowsTaint: options.windowsTaint,
      labels: simulatedLabels,
    },
    host,
  );
  return { host, nodeOs, runtime: createSimulatedRuntime(cri, host.stats) };
}

/** Of the agent: its supervisor asks the kubelet's own server whether it lives. */
export const simulatedNode: NodeRuntimeDriver = {
  open: async ({ options, client }) => ({
    kubelet: await simulation({ ...options, name: options.nodeName, client }),
    clients: [],
  }),
  forgetLiveness: (layout) => rmSync(kubeletPortFile(layout.root), { force: true }),
  answerLiveness: async (layout, port) => {
    writeFileSync(kubeletPortFile(layout.root), `${port}\n`);
    return () => undefined;
  },
};

export interface SimulatedNodeOptions extends SimulatedRuntimeOptions {
  readonly informers: InformerFactory;
  readonly dns: { readonly server: string; readonly domain: string };
  readonly log: Logger;
}

/** A node without a server of its own: no logs, no exec. */
export async function startSimulatedNode(options: SimulatedNodeOptions): Promise<{ stop(): Promise<void> }> {
  const { client, informers, log, name } = options;
  const kubelet: Kubelet = await startKubelet({
    ...(await simulation(options)),
    client,
    informers,
    clock: systemClock,
    random: systemRandom,
    log,
    nodeName: name,
    nodeIPs: ['127.0.0.1'],
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
