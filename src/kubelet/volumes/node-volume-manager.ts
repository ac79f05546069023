// Sets up a pod's volumes on this node and turns them into mounts of its containers.
import type { Pod, Volume, VolumeMount } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { fewAtOnce } from '../../base/few-at-once.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Beneath } from '../../os/beneath.ts';
import type { Host } from '../../os/host.ts';
import type { Mount } from '../../rpc-api/generated/cri-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import { type AnyContainer, podText, podUid } from '../pod-format.ts';
import { expand } from '../runtime/env-expansion.ts';
import type { ObjectSource } from '../runtime/env-vars.ts';
import type { FieldContext } from '../runtime/field-ref.ts';
import { pinsOf, releasePins, releasePodPins } from './pins.ts';
import { createPodTokens } from './pod-tokens.ts';
import { checkMounts, isSubPath } from './set-up-bounds.ts';
import { checkSubPath, failedToMake, mountSubPath } from './sub-path.ts';
import { pluginOf, volumeDir } from './volume-dir.ts';
import { type MountedVolumes, VolumeError, type VolumeManager } from './volume-manager.ts';
import type { VolumeLocation, VolumePlugin } from './volume-plugin.ts';

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
}

interface Ready {
  readonly volume: Volume;
  readonly plugin: VolumePlugin;
  readonly location: VolumeLocation;
}

interface MountInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly mount: VolumeMount;
  readonly index: number;
  readonly environment: ReadonlyMap<string, string>;
}

const propagation = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
} as const;

export function createNodeVolumeManager(deps: NodeVolumeManagerDeps): VolumeManager {
  const tokens = createPodTokens(deps);
  const { files, mounts, beneath } = deps.host;

  async function setUpOne(pod: Pod, volume: Volume, podIPs: readonly string[]): Promise<Ready> {
    const plugin = pluginOf(volume);
    if (!plugin) throw new VolumeError(volume.name, new Error('no volume plugin matched'));
    try {
      const location = await plugin.setUp({
        pod,
        volume,
        dir: volumeDir(deps.podDir(podUid(pod)), plugin, volume),
        files,
        beneath,
        mounts,
        objects: deps.objects,
        client: deps.client,
        clock: deps.clock,
        random: deps.random,
        nodeOs: deps.nodeOs,
        fields: { podIPs, nodeIPs: deps.nodeIPs, allocatable: deps.allocatable },
        token: (audience, seconds) => tokens.get(pod, audience, seconds),
      });
      return { volume, plugin, location };
    } catch (error) {
      throw new VolumeError(volume.name, error);
    }
  }

  async function pinSubPath(
    input: MountInput,
    location: VolumeLocation,
    subPath: string,
    target: string,
  ): Promise<void> {
    const { pod, container, mount } = input;
    checkSubPath(subPath);
    try {
      await mountSubPath(
        { files, beneath },
        { volume: location, subPath, target, linksInside: location.linkFree !== true },
      );
    } catch (error) {
      // As upstream: the details could tell of the node's files, so they are for the log alone.
      deps.log.warn({ error, pod: podText(pod), volume: mount.name }, 'a subPath was not mounted');
      const what = failedToMake(error) ? 'create subPath directory' : 'prepare subPath';
      throw new Error(`failed to ${what} for volumeMount "${mount.name}" of container "${container.name}"`);
    }
  }

  /** Whether pods could change what the path of a volume leads to. */
  function isChangeable({ mountPropagation = 'None' }: VolumeMount, { location }: Ready): boolean {
    // Mounts that spread must be the node's own; their type was checked when the volume was set up.
    const spreads = mountPropagation !== 'None' && deps.nodeOs.hasMountPropagation;
    return location.path !== '' || (location.kind !== undefined && !spreads);
  }

  /** The path that the runtime is given: nobody but the kubelet can make it lead elsewhere. */
  async function hostPathOf(input: MountInput, found: Ready): Promise<string> {
    const { pod, container, mount, index, environment } = input;
    const sub = mount.subPathExpr
      ? expand(mount.subPathExpr, (name) => environment.get(name))
      : (mount.subPath ?? '');
    const { location } = found;
    if (sub === '' && !isChangeable(mount, found)) return location.base;
    const pins = pinsOf(deps.podDir(podUid(pod)), mount.name, container.name);
    const target = `${pins}/${index}`;
    await files.makeDirectory(pins, 0o750);
    if (sub !== '') await pinSubPath(input, location, sub, target);
    else await beneath.mount(location, target, { kind: location.kind, below: true });
    return target;
  }

  async function mountOf(input: MountInput, ready: ReadonlyMap<string, Ready>): Promise<Mount> {
    const { mount } = input;
    const found = ready.get(mount.name);
    if (!found) throw new Error(`cannot find volume "${mount.name}" to mount into container`);
    return {
      containerPath: deps.nodeOs.containerPath(mount.mountPath),
      hostPath: await hostPathOf(input, found),
      readonly:
        mount.readOnly === true ||
        !found.plugin.writable ||
        found.volume.persistentVolumeClaim?.readOnly === true,
      propagation: deps.nodeOs.hasMountPropagation
        ? propagation[(mount.mountPropagation ?? 'None') as keyof typeof propagation]
        : propagation.None,
    };
  }

  const pinnedOf =
    (ready: ReadonlyMap<string, Ready>) =>
    (mount: VolumeMount): boolean => {
      const found = ready.get(mount.name);
      return isSubPath(mount) || (found !== undefined && isChangeable(mount, found));
    };

  const mounted = (pod: Pod, ready: ReadonlyMap<string, Ready>): MountedVolumes => ({
    mountsOf: async (container, environment, signal) => {
      // Also of a container that came after these volumes were set up.
      checkMounts({ pod, nodeOs: deps.nodeOs, containers: [container], isPinned: pinnedOf(ready) });
      const result: Mount[] = [];
      for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
        signal.throwIfAborted();
        result.push(await mountOf({ pod, container, mount, index, environment }, ready));
      }
      return result;
    },
    release: async (container) => {
      const names = new Set((container.volumeMounts ?? []).map((mount) => mount.name));
      for (const name of names) {
        await releasePins({ files, beneath }, pinsOf(deps.podDir(podUid(pod)), name, container.name));
      }
    },
  });

  return {
    setUp: async (pod, podIPs, signal) => {
      checkMounts({ pod, nodeOs: deps.nodeOs });
      const all = await fewAtOnce(pod.spec.volumes ?? [], setUpAtOnce, (volume) => {
        signal.throwIfAborted();
        return setUpOne(pod, volume, podIPs);
      });
      const ready = new Map(all.map((r) => [r.volume.name, r]));
      checkMounts({ pod, nodeOs: deps.nodeOs, isPinned: pinnedOf(ready) });
      return mounted(pod, ready);
    },
    tearDown: async (pod) => {
      tokens.forget(pod);
      const volumes = `${deps.podDir(podUid(pod))}/volumes`;
      await releasePodPins({ files, beneath }, deps.podDir(podUid(pod)));
      await mounts.unmountAllBelow(volumes);
      await beneath.remove(volumes);
    },
    refreshInMs: tokens.refreshInMs,
  };
}
