// Kernel settings of one network namespace, as a port.

export interface Sysctl {
  /** Undefined when the kernel has no such setting. */
  get(key: string): Promise<string | undefined>;
  /** Without those that the kernel does not have. */
  read(keys: readonly string[]): Promise<Readonly<Record<string, string>>>;
  /** Keys with `/` between the parts (interface names may hold dots). Keys the kernel does not have are passed over. */
  set(values: Readonly<Record<string, string>>): Promise<void>;
}
