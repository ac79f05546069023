// Which of the node's users a pod's programs are: one for each pod while its sandbox lives, the same for all its containers.
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** The ids that a node may give away; `pod-users.ts` in the handler and the front's `delete` share the files. */
export interface UserRange {
  /** The first id of the node's range. */
  readonly first: number;
  /** How many pods the range is for, and how many ids each gets. */
  readonly pods: number;
  readonly idsOfPod: number;
}

export const podsOfNode = 256;
export const idsOfPod = 1024;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** False when somebody has it. */
function claim(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Two containers of a pod may start at once: who is second takes what the first has. */
function keep(stateDir: string, sandbox: string, slot: number): number {
  const pod = `${stateDir}/pods/${sandbox}`;
  const own = `${pod}.${slot}`;
  writeFileSync(own, `${slot}\n`);
  try {
    linkSync(own, pod);
    return slot;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    rmSync(`${stateDir}/users/${slot}`, { force: true });
    return Number(read(pod));
  } finally {
    rmSync(own, { force: true });
  }
}

/** Users of sandboxes that are gone without a word: their bundles are no more. */
function sweep(stateDir: string, bundles: string): void {
  for (const slot of readdirSync(`${stateDir}/users`)) {
    const sandbox = read(`${stateDir}/users/${slot}`) ?? '';
    if (sandbox === '' || existsSync(`${bundles}/${sandbox}`)) continue;
    rmSync(`${stateDir}/users/${slot}`, { force: true });
    rmSync(`${stateDir}/pods/${sandbox}`, { force: true });
  }
}

/** The first id of a pod's own. `bundles` is the folder in which each living sandbox has one. */
export function firstIdOfPod(stateDir: string, range: UserRange, sandbox: string, bundles: string): number {
  mkdirSync(`${stateDir}/pods`, { recursive: true });
  mkdirSync(`${stateDir}/users`, { recursive: true });
  const idOf = (slot: number): number => range.first + slot * range.idsOfPod;
  const known = read(`${stateDir}/pods/${sandbox}`);
  if (known !== undefined) return idOf(Number(known));
  for (const swept of [false, true]) {
    if (swept) sweep(stateDir, bundles);
    for (let slot = 0; slot < range.pods; slot++) {
      if (claim(`${stateDir}/users/${slot}`, sandbox)) return idOf(keep(stateDir, sandbox, slot));
    }
  }
  throw new Error(`all ${range.pods} users of this node are taken by pods`);
}
