// A kubelet whose runtime is given, over an API server in process: nothing of the machine is touched.
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { type KubeletOptions, startKubelet } from '../../src/kubelet/kubelet.ts';
import { createSimulatedRuntime } from '../../src/kubelet/simulated/simulated-runtime.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import type { Cri } from '../../src/rpc-api/cri.ts';
import { frozenInformers } from './frozen-informers.ts';

/** Answers with its end. */
export async function startSimulatedKubelet(
  options: Pick<KubeletOptions, 'client' | 'nodeOs'> &
    Partial<Pick<KubeletOptions, 'clock' | 'metrics'>> & { readonly cri: Cri },
): Promise<() => Promise<void>> {
  const common = { clock: systemClock, random: systemRandom, log: silentLogger, ...options };
  const host = createLinuxHost();
  const informers = frozenInformers(common);
  const kubelet = await startKubelet({
    ...common,
    informers,
    host,
    runtime: createSimulatedRuntime(options.cri, host.stats),
    nodeName: 'node-1',
    nodeIPs: ['10.1.0.11'],
    dns: { servers: [], domain: 'cluster.local', host: { servers: [], searches: [], options: [] } },
    version: 'v1.36.0',
  });
  return async () => {
    await kubelet.stop();
    await informers.stop();
  };
}
