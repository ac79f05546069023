// Kernel settings of one network namespace, as a port.

export interface Sysctl {
  /** Undefined when the kernel has no such setting. */
  get(key: string): Promise<string | undefined>;
  /** Keys with `/` between the parts (interface names may hold dots). Keys the kernel does not have are passed over. */
  set(values: Readonly<Record<string, string>>): Promise<void>;
}
