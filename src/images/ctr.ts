// ctr, containerd's own client, in the namespace that its CRI keeps images in.
import { type Processes, type RunOptions, runOrThrow } from '../os/processes.ts';

export const criNamespace = 'k8s.io';

/** `address`: containerd's socket. Returns what it prints; throws when it fails. */
export const ctr = (
  processes: Processes,
  address: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string> =>
  runOrThrow(processes, 'ctr', ['--address', address, '--namespace', criNamespace, ...args], options);
