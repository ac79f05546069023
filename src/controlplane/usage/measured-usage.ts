// What serves metrics.k8s.io in this server: readings of kubelets where they can be asked, and what simulated pods say.
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { RestStorage } from '../../apiserver/registry/rest-storage.ts';
import type { Clock } from '../../base/clock.ts';
import { Turns } from '../../base/turns.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { KubeletReader } from '../../registry/metrics/read-kubelet.ts';
import { usageStorage } from '../../registry/metrics/usage-handlers.ts';
import { KeptReadings } from './kept-readings.ts';

const nobody: KubeletReader = {
  read: () => Promise.reject(new Error('no kubelet is asked')),
  close: () => undefined,
};

export function measuredUsage(
  {
    kubelets = nobody,
    clock,
    log,
  }: { readonly kubelets?: KubeletReader | undefined; readonly clock: Clock; readonly log: Logger },
  live: LiveObjects,
): { readonly storage: RestStorage; close(): void } {
  const readings = new KeptReadings({ live, clock, log, read: kubelets.read });
  const turns = new Turns((run) => clock.timer(0, run));
  return {
    storage: usageStorage({ readings, turns }),
    close() {
      readings.close();
      kubelets.close();
    },
  };
}
