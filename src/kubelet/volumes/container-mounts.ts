// The volumes of one pod, as they are set up, and the mounts that its containers have of them.
import type { Pod, Volume, VolumeMount } from '../../api/generated/types/core-v1.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Mount } from '../../rpc-api/generated/cri-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import { type AnyContainer, podText } from '../pod-format.ts';
import { expand } from '../runtime/env-expansion.ts';
import { type PinHost, pinsOf, releasePins } from './pins.ts';
import { checkMounts, isSubPath } from './set-up-bounds.ts';
import { checkSubPath, failedToMake, mountSubPath } from './sub-path.ts';
import type { MountedVolumes } from './volume-manager.ts';
import type { VolumeLocation, VolumePlugin } from './volume-plugin.ts';

export interface ContainerMountsDeps {
  readonly host: PinHost;
  readonly log: Logger;
  readonly nodeOs: NodeOs;
  readonly pod: Pod;
  /** The pod's own. */
  readonly podDir: string;
}

export interface ReadyVolume {
  readonly volume: Volume;
  readonly plugin: VolumePlugin;
  readonly location: VolumeLocation;
}

interface MountInput {
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

export class ContainerMounts implements MountedVolumes {
  readonly #deps: ContainerMountsDeps;
  readonly #ready: ReadonlyMap<string, ReadyVolume>;

  constructor(deps: ContainerMountsDeps, volumes: readonly ReadyVolume[]) {
    this.#deps = deps;
    this.#ready = new Map(volumes.map((ready) => [ready.volume.name, ready]));
  }

  /** Throws VolumeError for more mounts than a pod may have. Default: of all its containers. */
  check(containers?: readonly AnyContainer[]): void {
    const { pod, nodeOs } = this.#deps;
    const isPinned = (mount: VolumeMount): boolean => {
      const found = this.#ready.get(mount.name);
      return isSubPath(mount) || (found !== undefined && this.#isChangeable(mount, found));
    };
    checkMounts({ pod, nodeOs, isPinned, ...(containers === undefined ? {} : { containers }) });
  }

  async mountsOf(
    container: AnyContainer,
    environment: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<readonly Mount[]> {
    // Also of a container that came after these volumes were set up.
    this.check([container]);
    const result: Mount[] = [];
    for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
      signal.throwIfAborted();
      result.push(await this.#mountOf({ container, mount, index, environment }));
    }
    return result;
  }

  async release(container: AnyContainer): Promise<void> {
    const names = new Set((container.volumeMounts ?? []).map((mount) => mount.name));
    for (const name of names)
      await releasePins(this.#deps.host, pinsOf(this.#deps.podDir, name, container.name));
  }

  async #mountOf(input: MountInput): Promise<Mount> {
    const { mount } = input;
    const { nodeOs } = this.#deps;
    const found = this.#ready.get(mount.name);
    if (!found) throw new Error(`cannot find volume "${mount.name}" to mount into container`);
    return {
      containerPath: nodeOs.containerPath(mount.mountPath),
      hostPath: await this.#hostPathOf(input, found),
      readonly:
        mount.readOnly === true ||
        !found.plugin.writable ||
        found.volume.persistentVolumeClaim?.readOnly === true,
      propagation: nodeOs.hasMountPropagation
        ? propagation[(mount.mountPropagation ?? 'None') as keyof typeof propagation]
        : propagation.None,
    };
  }

  /** Whether pods could change what the path of a volume leads to. */
  #isChangeable({ mountPropagation = 'None' }: VolumeMount, { location }: ReadyVolume): boolean {
    // Mounts that spread must be the node's own; their type was checked when the volume was set up.
    const spreads = mountPropagation !== 'None' && this.#deps.nodeOs.hasMountPropagation;
    return location.path !== '' || (location.kind !== undefined && !spreads);
  }

  /** The path that the runtime is given: nobody but the kubelet can make it lead elsewhere. */
  async #hostPathOf(input: MountInput, found: ReadyVolume): Promise<string> {
    const { container, mount, index, environment } = input;
    const { host, podDir } = this.#deps;
    const sub = mount.subPathExpr
      ? expand(mount.subPathExpr, (name) => environment.get(name))
      : (mount.subPath ?? '');
    const { location } = found;
    if (sub === '' && !this.#isChangeable(mount, found)) return location.base;
    const pins = pinsOf(podDir, mount.name, container.name);
    const target = `${pins}/${index}`;
    await host.files.makeDirectory(pins, 0o750);
    if (sub !== '') await this.#pinSubPath(input, location, sub, target);
    else await host.beneath.mount(location, target, { kind: location.kind, below: true });
    return target;
  }

  async #pinSubPath(
    { container, mount }: MountInput,
    volume: VolumeLocation,
    subPath: string,
    target: string,
  ): Promise<void> {
    const { host, log, pod } = this.#deps;
    checkSubPath(subPath);
    try {
      await mountSubPath(host, { volume, subPath, target, linksInside: volume.linkFree !== true });
    } catch (error) {
      // As upstream: the details could tell of the node's files, so they are for the log alone.
      log.warn({ error, pod: podText(pod), volume: mount.name }, 'a subPath was not mounted');
      const what = failedToMake(error) ? 'create subPath directory' : 'prepare subPath';
      throw new Error(`failed to ${what} for volumeMount "${mount.name}" of container "${container.name}"`);
    }
  }
}
