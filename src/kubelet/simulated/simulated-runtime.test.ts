// The runtime without containers keeps the contract of those with containers.
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { linuxHostStats } from '../../os/linux/stats-linux.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { nodeRuntimeConformance } from '../testing/node-runtime-conformance.ts';
import { createSimulatedCri } from './simulated-cri.ts';
import { createSimulatedRuntime } from './simulated-runtime.ts';

nodeRuntimeConformance({
  name: 'simulated',
  open: async () => {
    const podCidr = async (): Promise<string> => '10.244.7.0/29';
    const cri = createSimulatedCri({ clock: systemClock, random: systemRandom, podCidr, version: '1' });
    return {
      runtime: createSimulatedRuntime(cri, linuxHostStats),
      nodeOs: createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '0' }),
      image: 'example.com/x:1',
      // No program runs.
      wrote: async () => undefined,
      close: async () => undefined,
    };
  },
});
