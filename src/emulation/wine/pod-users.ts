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

/** A slot as a file names it; undefined when the file is damaged. */
function slotIn(path: string, { pods }: UserRange): number | undefined {
  const text = read(path);
  return text !== undefined && /^\d+$/.test(text) && Number(text) < pods ? Number(text) : undefined;
}

/** All or nothing: nobody finds a file without its text. False when somebody has it. */
function claim(path: string, text: string): boolean {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, `${text}\n`);
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

/** Two containers of a pod may start at once: who is second takes what the first has. */
function keep(stateDir: string, range: UserRange, sandbox: string, slot: number): number {
  const pod = `${stateDir}/pods/${sandbox}`;
  if (claim(pod, String(slot))) return slot;
  const first = slotIn(pod, range);
  if (first === undefined) {
    writeFileSync(pod, `${slot}\n`);
    return slot;
  }
  rmSync(`${stateDir}/users/${slot}`, { force: true });
  return first;
}

const isSlot = (name: string): boolean => /^\d+$/.test(name);

/** The slot of a pod whose own file is damaged: its containers must all be one user. */
function recover(stateDir: string, sandbox: string): number | undefined {
  const found = readdirSync(`${stateDir}/users`)
    .filter(isSlot)
    .find((slot) => read(`${stateDir}/users/${slot}`) === sandbox);
  if (found === undefined) return undefined;
  writeFileSync(`${stateDir}/pods/${sandbox}`, `${found}\n`);
  return Number(found);
}

/** Users of sandboxes that are gone without a word: their bundles are no more. */
function sweep(stateDir: string, range: UserRange, bundles: string): void {
  const living = (sandbox: string): boolean => sandbox !== '' && existsSync(`${bundles}/${sandbox}`);
  const taken = new Set(
    readdirSync(`${stateDir}/pods`)
      .filter(living)
      .map((sandbox) => slotIn(`${stateDir}/pods/${sandbox}`, range)),
  );
  for (const slot of readdirSync(`${stateDir}/users`).filter(isSlot)) {
    const sandbox = read(`${stateDir}/users/${slot}`) ?? '';
    // A file without its text tells nothing: who lives knows its slot.
    if (living(sandbox) || taken.has(Number(slot))) continue;
    rmSync(`${stateDir}/users/${slot}`, { force: true });
    if (sandbox !== '') rmSync(`${stateDir}/pods/${sandbox}`, { force: true });
  }
}

/** The first id of a pod's own. `bundles` is the folder in which each living sandbox has one. */
export function firstIdOfPod(stateDir: string, range: UserRange, sandbox: string, bundles: string): number {
  mkdirSync(`${stateDir}/pods`, { recursive: true });
  mkdirSync(`${stateDir}/users`, { recursive: true });
  const idOf = (slot: number): number => range.first + slot * range.idsOfPod;
  const pod = `${stateDir}/pods/${sandbox}`;
  const known = slotIn(pod, range) ?? (existsSync(pod) ? recover(stateDir, sandbox) : undefined);
  if (known !== undefined) return idOf(known);
  for (const swept of [false, true]) {
    if (swept) sweep(stateDir, range, bundles);
    for (let slot = 0; slot < range.pods; slot++) {
      if (claim(`${stateDir}/users/${slot}`, sandbox)) return idOf(keep(stateDir, range, sandbox, slot));
    }
  }
  throw new Error(`all ${range.pods} users of this node are taken by pods`);
}
