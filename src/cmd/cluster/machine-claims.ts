// Which cluster has which addresses of this machine, whatever the homes: one file for each, written under one lock.
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withFileLock } from '../../os/file-lock.ts';
import type { Processes } from '../../os/processes.ts';
import { removeIfEmpty } from '../../os/remove-if-empty.ts';
import { folderNamed } from '../setup/locations.ts';
import type { RunningProcess } from '../supervisor/supervision.ts';
import { clusterPaths, isClusterThere } from './cluster-state.ts';
import { isAlive, recordOf } from './own-processes.ts';

export interface Claim {
  readonly id: string;
  readonly home: string;
  readonly name: string;
  /** The pods' addresses; a simulated cluster has none. */
  readonly clusterCidr?: string;
  /** The nodes' addresses. */
  readonly fabric?: string;
  /** Of the API server, on the loopback address. */
  readonly port: number;
}

/** Who wrote it, and since which start of the machine it holds. */
interface StoredClaim extends Claim {
  readonly bootId: string;
  readonly by: RunningProcess;
}

export interface Claims {
  /** Of the other clusters of this machine. */
  readonly others: readonly Claim[];
  keep(claim: Claim): void;
  release(): void;
}

/** Root's clusters share one folder; a user's have one that is theirs. Both vanish with the machine's start. */
function claimsFolder(): string {
  const uid = process.getuid?.() ?? 0;
  return uid === 0
    ? '/run/porthole'
    : join(folderNamed(process.env, 'XDG_RUNTIME_DIR') ?? tmpdir(), `porthole-claims-${uid}`);
}

/** Its name can be guessed: whoever made it first must not be somebody else, nor have put a link there. */
function makeOwnFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  const isDirectory = (mode & 0o170000) === 0o040000;
  if (isDirectory && uid === (process.getuid?.() ?? uid) && (mode & 0o022) === 0) return;
  throw new Error(
    `${folder} is not a folder that belongs to you alone; remove it, or set XDG_RUNTIME_DIR to one that does`,
  );
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown'; // no Linux: nothing there outlives a start either
  }
}

/**
 * A claim holds as long as its cluster is known in its home, or the command that makes it runs. What is left of a
 * vanished home still stands in the machine's links, routes and sockets, which are looked at, too.
 */
function holds(claim: StoredClaim, boot: string): boolean {
  if (claim.bootId !== boot) return false;
  return isClusterThere(clusterPaths(claim.home, claim.name)) || isAlive(claim.by);
}

function read(file: string): StoredClaim | undefined {
  try {
    const claim = JSON.parse(readFileSync(file, 'utf8')) as StoredClaim | null;
    return typeof claim?.home === 'string' && typeof claim.name === 'string' ? claim : undefined;
  } catch {
    return undefined; // half written by one that was killed, or not ours
  }
}

/** Runs `body` while no other command of this machine chooses or gives back addresses. */
export async function withMachineClaims<T>(
  processes: Processes,
  owner: { readonly id: string; readonly folder?: string },
  body: (claims: Claims) => Promise<T>,
): Promise<T> {
  const folder = owner.folder ?? claimsFolder();
  const claims = join(folder, 'clusters');
  const makeFolders = (): void => {
    makeOwnFolder(folder);
    makeOwnFolder(claims);
  };
  const own = join(claims, `${owner.id}.json`);
  const lock = join(folder, 'lock');
  const giveBack = (): void => {
    rmSync(own, { force: true });
    // The last one leaves nothing; who waits for the lock meanwhile makes another file.
    if (readdirSync(claims).length > 0) return;
    removeIfEmpty(join(folder, 'nodes'), claims);
    rmSync(lock, { force: true });
    removeIfEmpty(folder);
  };
  const work = (): Promise<T> => {
    // Whoever had the lock before may have removed them.
    makeFolders();
    const boot = bootId();
    const others: Claim[] = [];
    // What a killed command left half written has another ending.
    const written = readdirSync(claims).filter((one) => one.endsWith('.json'));
    for (const name of written.filter((one) => one !== `${owner.id}.json`)) {
      const file = join(claims, name);
      const claim = read(file);
      if (claim !== undefined && holds(claim, boot)) others.push(claim);
      else rmSync(file, { force: true });
    }
    return body({
      others,
      keep: (claim) => {
        const stored: StoredClaim = { ...claim, bootId: boot, by: recordOf('up', process.pid) };
        writeFileSync(`${own}.new`, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
        renameSync(`${own}.new`, own);
      },
      release: giveBack,
    });
  };
  return withFileLock(processes, lock, work, makeFolders);
}
