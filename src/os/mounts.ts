// Mounts, as a port.

export interface MountEntry {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

export interface Mounts {
  list(): Promise<readonly MountEntry[]>;
  isMountPoint(target: string): Promise<boolean>;
  /** Whether another file system than its parent's is mounted there, told without a look at all mounts. */
  hasOwnFileSystem(folder: string): Promise<boolean>;
  tmpfs(
    target: string,
    options?: { readonly sizeBytes?: number | undefined; readonly mode?: number },
  ): Promise<void>;
  bind(source: string, target: string, options?: { readonly readOnly?: boolean }): Promise<void>;
  /** Detaches at once, also while in use; not mounted is fine. */
  unmount(target: string): Promise<void>;
  /** Everything at and below `folder`, deepest first. */
  unmountAllBelow(folder: string): Promise<void>;
}
