// The range of user ids that an emulated node's pods have, apart from every other node's of this machine.
import { existsSync, mkdirSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../../os/file-lock.ts';
import type { Processes } from '../../os/processes.ts';
import { removeIfEmpty } from '../../os/remove-if-empty.ts';
import { idsOfPod, podsOfNode, type UserRange } from './pod-users.ts';

/** Above what systemd and the tools of containers give away (up to 0x6fffffff), below where ids become negative numbers. */
const firstOfMachine = 0x7000_0000;
const nodesOfMachine = 0x1000_0000 / (podsOfNode * idsOfPod);

/** Claims live as long as the machine runs: its containers do not live longer. */
const userClaims = '/run/porthole/windows-users';

const withClaims = <T>(processes: Processes, claims: string, body: () => Promise<T>): Promise<T> =>
  withFileLock(processes, join(claims, 'lock'), body, () => void mkdirSync(claims, { recursive: true }));

/** By their places. Those of nodes that are gone, or go with a folder, are removed. */
async function claimsThatHold(claims: string, going?: string): Promise<Map<number, string>> {
  const taken = new Map<number, string>();
  for (const name of await readdir(claims)) {
    if (!/^[0-9]+$/.test(name)) continue;
    const owner = await readFile(join(claims, name), 'utf8');
    const goes = going !== undefined && owner.startsWith(`${going}/`);
    if (existsSync(owner) && !goes) taken.set(Number(name), owner);
    else await rm(join(claims, name));
  }
  return taken;
}

/** Of all nodes below a folder that is about to go, so that whoever ends a removal finds it. The last one leaves nothing. */
export async function releaseUserRanges(
  processes: Processes,
  going: string,
  claims: string = userClaims,
): Promise<void> {
  if (!existsSync(claims)) return;
  await withClaims(processes, claims, async () => {
    if ((await claimsThatHold(claims, going)).size > 0) return;
    await rm(join(claims, 'lock'), { force: true });
    removeIfEmpty(claims);
  });
}

/** One file a node, named by its place in the machine's ids; a claim holds as long as the node's own folder is there. */
export async function claimUserRange(
  processes: Processes,
  stateDir: string,
  claims: string = userClaims,
): Promise<UserRange> {
  return withClaims(processes, claims, async () => {
    const taken = await claimsThatHold(claims);
    const own = [...taken].find(([, owner]) => owner === stateDir)?.[0];
    let place = own ?? 0;
    while (own === undefined && taken.has(place)) place++;
    if (place >= nodesOfMachine)
      throw new Error(`${nodesOfMachine} emulated Windows nodes run on this machine`);
    if (own === undefined) await writeFile(join(claims, String(place)), stateDir);
    return { first: firstOfMachine + place * podsOfNode * idsOfPod, pods: podsOfNode, idsOfPod };
  });
}
