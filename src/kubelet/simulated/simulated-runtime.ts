// A node's runtime that touches nothing of its machine: pods run on paper, and their files are nowhere.
import type { HostStats } from '../../os/stats.ts';
import type { Cri } from '../../rpc-api/cri.ts';
import type { NodeRuntime } from '../node-runtime.ts';
import type { PodStorage } from '../pod-storage.ts';
import type { Prober } from '../prober/prober.ts';
import { createMemoryPullRecords } from '../runtime/pull-records.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';

const noFiles: PodStorage = {
  podDir: (uid) => `/simulated/${uid}`,
  logDirectory: () => '',
  prepare: async () => undefined,
  writeHosts: async () => '',
  nodeHosts: async () => '',
  createTerminationLog: async () => '',
  readTerminationLog: async () => undefined,
  prepareContainerLog: async () => undefined,
  readLogTail: async () => undefined,
  remove: async () => undefined,
  removeLogs: async () => undefined,
  removeLogsOf: async () => undefined,
  pods: async () => [],
};

const noVolumes: VolumeManager = {
  setUp: async () => ({ mountsOf: async () => [], release: async () => undefined }),
  tearDown: async () => undefined,
  refreshInMs: () => undefined,
};

/** No program answers, so every running container is well. */
const noProbes: Prober = {
  update: () => undefined,
  remove: () => undefined,
  stopLiveness: () => undefined,
  liveness: () => undefined,
  readiness: () => true,
  startup: () => true,
  stop: () => undefined,
};

/** `cri`: `createSimulatedCri`. `stats`: of the machine that the node says it has. */
export function createSimulatedRuntime(cri: Cri, stats: Pick<HostStats, 'disk'>): NodeRuntime {
  return {
    cri,
    notice: {
      reason: 'Simulated',
      message: 'The containers of this node are simulated: nothing runs.',
    },
    storage: noFiles,
    pullRecords: createMemoryPullRecords(),
    cgroups: undefined,
    cgroupRoot: '',
    seccompRoot: '',
    disks: async () => {
      const disk = await stats.disk('/');
      return { node: disk, images: disk };
    },
    problems: () => [],
    fullExitCode: async () => undefined,
    imagePlatform: async () => undefined,
    registryLogins: async () => undefined,
    volumes: () => noVolumes,
    prober: () => noProbes,
    meter: () => undefined,
  };
}
