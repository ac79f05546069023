// Sets up the volumes of pods on this node, and takes them down.
import type { Pod, Volume } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Beneath } from '../../os/beneath.ts';
import type { Host } from '../../os/host.ts';
import type { VolumeMetrics } from '../metrics/volume-metrics.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import { podUid } from '../pod-format.ts';
import type { ObjectSource } from '../runtime/env-vars.ts';
import type { FieldContext } from '../runtime/field-ref.ts';
import { ContainerMounts, type ReadyVolume } from './container-mounts.ts';
import { releasePodPins } from './pins.ts';
import { createPodTokens, type PodTokens } from './pod-tokens.ts';
import { checkMounts } from './set-up-bounds.ts';
import { pluginOf, volumeDir } from './volume-dir.ts';
import { type MountedVolumes, VolumeError, type VolumeManager } from './volume-manager.ts';

/** Of one pod: the agent's one thread and the table of mounts are for all pods of the node. */
const setUpAtOnce = 16;

export interface NodeVolumeManagerDeps {
  readonly host: Pick<Host, 'files' | 'mounts'> & { readonly beneath: Beneath };
  readonly log: Logger;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly objects: ObjectSource;
  readonly nodeOs: NodeOs;
  readonly podDir: (uid: string) => string;
  readonly nodeIPs: readonly string[];
  readonly allocatable: FieldContext['allocatable'];
  readonly metrics: VolumeMetrics;
}

class NodeVolumeManager implements VolumeManager {
  readonly #deps: NodeVolumeManagerDeps;
  readonly #tokens: PodTokens;

  constructor(deps: NodeVolumeManagerDeps) {
    this.#deps = deps;
    this.#tokens = createPodTokens(deps);
  }

  async setUp(pod: Pod, podIPs: readonly string[], signal: AbortSignal): Promise<MountedVolumes> {
    const { host, log, nodeOs, podDir } = this.#deps;
    checkMounts({ pod, nodeOs });
    const all = await fewAtOnce(pod.spec.volumes ?? [], setUpAtOnce, (volume) => {
      signal.throwIfAborted();
      return this.#setUpOne(pod, volume, podIPs);
    });
    const mounts = new ContainerMounts({ host, log, nodeOs, pod, podDir: podDir(podUid(pod)) }, all);
    mounts.check();
    return mounts;
  }

  async tearDown(pod: Pod): Promise<void> {
    const { host, metrics, podDir } = this.#deps;
    this.#tokens.forget(pod);
    const volumes = `${podDir(podUid(pod))}/volumes`;
    await releasePodPins(host, podDir(podUid(pod)));
    await host.mounts.unmountAllBelow(volumes);
    await host.beneath.remove(volumes);
    metrics.tornDown(pod);
  }

  refreshInMs(pod: Pod): number | undefined {
    return this.#tokens.refreshInMs(pod);
  }

  async #setUpOne(pod: Pod, volume: Volume, podIPs: readonly string[]): Promise<ReadyVolume> {
    const plugin = pluginOf(volume);
    if (!plugin) throw new VolumeError(volume.name, new Error('no volume plugin matched'));
    const { host, podDir, nodeIPs, allocatable, metrics, ...rest } = this.#deps;
    const context = {
      ...rest,
      ...host,
      pod,
      volume,
      dir: volumeDir(podDir(podUid(pod)), plugin, volume),
      fields: { podIPs, nodeIPs, allocatable },
      token: (audience: string, seconds: number) => this.#tokens.get(pod, audience, seconds),
    };
    try {
      const location = await metrics.setUp(pod, volume.name, plugin.name, () => plugin.setUp(context));
      return { volume, plugin, location };
    } catch (error) {
      throw new VolumeError(volume.name, error);
    }
  }
}

export const createNodeVolumeManager = (deps: NodeVolumeManagerDeps): VolumeManager =>
  new NodeVolumeManager(deps);
