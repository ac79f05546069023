// Gives pods their cables back: what somebody deleted is made anew from what its attachment knows.
import type { Logger } from '../../component-base/logger.ts';
import type { LinkInfo, Links } from '../../os/links.ts';
import { type Attachment, attachmentKey } from './attachments.ts';
import { nodeSideChanges, type PodCable, podSideChanges } from './pod-cable.ts';

/** Of the plugin. */
export interface Plugged {
  readonly ports: {
    readonly links: Links;
    readonly log: Logger;
    linksInside(path: string): Promise<Links | undefined>;
  };
  /** By key. */
  readonly known: ReadonlyMap<string, Attachment>;
  readonly leaving: ReadonlySet<Attachment>;
  /** Somebody asks for it just now. */
  readonly isBusy: (key: string) => boolean;
  readonly inTurn: <T>(key: string, work: () => Promise<T>) => Promise<T>;
  readonly cableOf: (attachment: Attachment) => PodCable;
}

/** Whether it was gone. The pod keeps its address; its containers notice no more than an outage. */
async function plugAgain(
  { ports, known, leaving, cableOf }: Plugged,
  attachment: Attachment,
): Promise<boolean> {
  const isGone = known.get(attachmentKey(attachment)) !== attachment || leaving.has(attachment);
  if (isGone || (await ports.links.links()).some(({ name }) => name === attachment.hostInterface))
    return false;
  const inside = await ports.linksInside(attachment.netns);
  if (inside === undefined) return false; // its pod has ended, and DEL comes
  // An end without its other one is what a link looks like that was renamed.
  await inside.apply([{ do: 'deleteLink', name: attachment.ifname }], { keepGoing: 'silently' });
  const cable = cableOf(attachment);
  await ports.links.apply(nodeSideChanges(cable));
  await inside.apply(podSideChanges(cable));
  return true;
}

/** `found`: the node's links. */
export async function keepCables(found: readonly LinkInfo[], plugged: Plugged): Promise<void> {
  const { ports, known, isBusy, inTurn } = plugged;
  const there = new Set(found.map(({ name }) => name));
  for (const attachment of [...known.values()]) {
    const key = attachmentKey(attachment);
    // Who is being plugged or unplugged is looked at the next time: nobody's request is waited for.
    if (there.has(attachment.hostInterface) || isBusy(key)) continue;
    const { podIP, hostInterface } = attachment;
    try {
      if (await inTurn(key, () => plugAgain(plugged, attachment)))
        ports.log.warn({ podIP, interface: hostInterface }, 'the cable of a pod was gone; made anew');
    } catch (error) {
      ports.log.error({ error, podIP, interface: hostInterface }, 'a pod without a cable can have none');
    }
  }
}
