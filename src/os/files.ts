// Files, as a port: what the node agent does with the machine's file system.

export type FileKind =
  | 'file'
  | 'directory'
  | 'symlink'
  | 'socket'
  | 'fifo'
  | 'characterDevice'
  | 'blockDevice'
  | 'other';

export interface FileInfo {
  readonly kind: FileKind;
  readonly sizeBytes: number;
  /** Permission bits, setuid and sticky included. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly inode: number;
  readonly modifiedMs: number;
}

/** An open file that is read at positions; survives a rename (log rotation). */
export interface OpenFile extends AsyncDisposable {
  /** Fewer bytes than asked for at the end; an empty buffer past it. */
  readAt(position: number, length: number): Promise<Buffer>;
  stat(): Promise<FileInfo>;
  close(): Promise<void>;
}

export interface Files {
  /** Throws when the file is larger than `maxBytes` (default 64 MiB). */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<Buffer>;
  /** Undefined when there is no such file. */
  readIfThere(path: string, options?: { readonly maxBytes?: number }): Promise<Buffer | undefined>;
  /** The first bytes of a regular file; undefined when there is none, or a link, a pipe or anything else in its place. */
  readHead(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Creates or replaces; `mode` is applied whatever the umask. `exclusive` refuses an existing file or link. */
  write(
    path: string,
    data: string | Uint8Array,
    options?: { readonly mode?: number; readonly exclusive?: boolean },
  ): Promise<void>;
  open(path: string): Promise<OpenFile>;
  /** With parents; `mode` is applied whatever the umask when the folder is new. */
  makeDirectory(path: string, mode?: number): Promise<void>;
  /** File, link or whole tree; never follows a link; nothing there is fine. */
  remove(path: string): Promise<void>;
  /** Of the link itself. */
  lstat(path: string): Promise<FileInfo | undefined>;
  stat(path: string): Promise<FileInfo | undefined>;
  list(path: string): Promise<readonly string[]>;
  symlink(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  /** All links resolved; throws when something on the way is missing. */
  realPath(path: string): Promise<string>;
  changeMode(path: string, mode: number): Promise<void>;
  /** -1 leaves the id as it is. */
  changeOwner(path: string, uid: number, gid: number): Promise<void>;
  /** Calls back on each change of the file or folder until the signal aborts. */
  watch(path: string, changed: () => void, signal: AbortSignal): void;
}
