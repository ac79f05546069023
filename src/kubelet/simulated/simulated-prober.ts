// Probes of a node without programs: every running container is well.
import type { Prober } from '../prober/prober.ts';

export const simulatedProber: Prober = {
  update: () => undefined,
  remove: () => undefined,
  stopLiveness: () => undefined,
  liveness: () => undefined,
  readiness: () => true,
  startup: () => true,
  stop: () => undefined,
};
