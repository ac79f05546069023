// Ways below a folder that somebody else may change meanwhile, as a port: what was opened is what is mounted or removed.
import type { FileKind } from './files.ts';

export interface Place {
  /** Reached as it is written, links too: nobody but the machine's owner changes this way. */
  readonly base: string;
  /** Names between slashes, each opened in the folder before it; a link or `..` ends the walk. '' is the base itself. */
  readonly path: string;
}

export interface WalkOptions {
  /** What must be there. */
  readonly kind?: FileKind | undefined;
  /** What is missing is made: folders, or an empty file as the last one. Without `mode` folders get the base's. */
  readonly make?: { readonly kind: 'directory' | 'file'; readonly mode?: number } | undefined;
}

export interface Beneath {
  /** Says what is there. Throws BeneathError. */
  open(place: Place, options?: WalkOptions): Promise<FileKind>;
  /** The same, and mounts it on `target`, which is made or replaced; `below`: with the mounts that lie in it. */
  mount(
    place: Place,
    target: string,
    options?: WalkOptions & { readonly below?: boolean },
  ): Promise<FileKind>;
  /** Takes such a mount and its target away; not there is fine. Nothing spreads to what was mounted. */
  release(target: string): Promise<void>;
  /** A whole tree of any depth, never through a link or into a mount; not there is fine. */
  remove(folder: string): Promise<void>;
  /** What each folder or file takes on its disk, through no link and no mount; nothing where it is not there. Counts for so long, in all. */
  usage(paths: readonly string[], withinMs: number, signal?: AbortSignal): Promise<readonly FolderUsage[]>;
}

/** What was not counted: there was more when the time was over, or a part could not be read. */
export type Uncounted = 'late' | 'unread';

export interface FolderUsage {
  readonly bytes: number;
  readonly inodes: number;
  /** Then it takes at least the bytes and inodes that are told. */
  readonly uncounted?: Uncounted | undefined;
}

export type BeneathStep =
  | 'base'
  | 'open'
  | 'make'
  | 'kind'
  | 'target'
  | 'mount'
  | 'unmount'
  | 'remove'
  | 'stat'
  | 'usage';

/** ENOENT, on every Linux. */
const noSuchFile = 2;

/** A walk that came to nothing, with the step that failed. */
export class BeneathError extends Error {
  readonly step: BeneathStep;
  /** The system's number: 40 is ELOOP, a link on the way. */
  readonly errno: number;
  /** There is nothing of that name. */
  get isMissing(): boolean {
    return this.errno === noSuchFile;
  }
  constructor(step: BeneathStep, errno: number, message: string) {
    super(message);
    this.name = 'BeneathError';
    this.step = step;
    this.errno = errno;
  }
}
