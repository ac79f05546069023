// After each start of a containerd: what ran before and what it does not know is ended, and has no address any more.
import type { ContainerdDeps } from './containerd-process.ts';
import { endUnknown, type SandboxPlaces, type SandboxThere, sandboxesThere } from './leftovers.ts';

/** Of the node's network: who has an address. */
export interface SandboxCables {
  attachments(): readonly { readonly containerID: string; readonly netns: string; readonly podIP: string }[];
  detach(containerIDs: ReadonlySet<string>): Promise<void>;
}

export interface SweepOptions {
  readonly places: SandboxPlaces;
  readonly cables: SandboxCables;
  /** The sandboxes that CRI knows, once it has loaded them. */
  readonly known: () => Promise<ReadonlySet<string>>;
}

export interface Sweep {
  /** To be called while no containerd runs: whoever comes later may be one that is being made. Does not throw. */
  look(): Promise<void>;
  /** When it answers. What was seen is swept once; when that throws, the next time. */
  sweep(): Promise<void>;
}

interface Seen {
  readonly there: ReadonlyMap<string, SandboxThere>;
  readonly cabled: ReturnType<SandboxCables['attachments']>;
}

export function sweepUnknown(deps: ContainerdDeps, { places, cables, known }: SweepOptions): Sweep {
  const { files, mounts } = deps.host;
  const ownFolder = `${places.state}/`;
  let seen: Seen | undefined;

  async function removeCables(cabled: Seen['cabled']): Promise<void> {
    if (cabled.length === 0) return;
    await cables.detach(new Set(cabled.map(({ containerID }) => containerID)));
    for (const { netns } of cabled) {
      if (!netns.startsWith(ownFolder)) continue;
      await mounts.unmountAllBelow(netns);
      await files.remove(netns);
    }
  }

  return {
    look: async () => {
      try {
        seen = { there: await sandboxesThere(deps, places), cabled: cables.attachments() };
      } catch (error) {
        deps.log.error({ error }, 'what runs beside containerd could not be looked at');
      }
    },
    sweep: async () => {
      if (seen === undefined) return;
      const { there, cabled } = seen;
      const alive = await known();
      const sandboxes = await endUnknown(deps, places, there, alive);
      const unknown = cabled.filter(({ containerID }) => !alive.has(containerID));
      await removeCables(unknown);
      seen = undefined;
      const addresses = unknown.map(({ podIP }) => podIP);
      if (sandboxes.length > 0 || addresses.length > 0)
        deps.log.warn(
          { sandboxes, addresses },
          'containerd does not know what it ran before, as with another store; sandboxes were ended and their addresses given back',
        );
    },
  };
}
