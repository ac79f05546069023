// Named network namespaces, as a port.

export interface NetworkNamespaces {
  list(): Promise<readonly string[]>;
  /** Names that exist already are left as they are. */
  create(names: readonly string[]): Promise<void>;
  /** Names that are not there are fine. Their interfaces vanish with them unless a process still holds one. */
  delete(names: readonly string[]): Promise<void>;
  /** What `nsenter --net=` and CNI_NETNS take. */
  path(name: string): string;
}
