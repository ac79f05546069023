// What a person can do about an error of the machine: pure.

interface SystemError {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly cause?: unknown;
  /** Said by whoever knows better than the codes below. */
  readonly next?: unknown;
}

const step: Readonly<Record<string, (error: SystemError) => string>> = {
  EADDRINUSE: ({ port }) =>
    `end the program that has the port ("ss -ltnp 'sport = :${String(port)}'" shows it), or choose another port`,
  EADDRNOTAVAIL: () => 'choose an address that this machine has ("ip address" shows them)',
  EACCES: ({ path }) => `run this as a user who may use ${String(path ?? 'it')}`,
  EPERM: ({ path }) => `run this as a user who may use ${String(path ?? 'it')}`,
  ENOTDIR: ({ path }) => `choose a folder, or move away what lies at ${String(path)}`,
  EEXIST: ({ path }) => `choose a folder, or move away what lies at ${String(path)}`,
  ENOENT: ({ path }) => `check the path ${String(path)}`,
  EROFS: ({ path }) => `choose a place that can be written instead of ${String(path)}`,
  ENOSPC: () => 'free some space on the disk',
  EISDIR: ({ path }) => `${String(path ?? 'it')} must be a file`,
};

/** What the API server answers when its store can't grow. */
const noSpace = 'etcdserver: mvcc: database space exceeded';

/** What a list says of a value that no key opens; some are needed to begin. */
const sealed = 'Internal error occurred: unable to transform key ';

/** Of the innermost cause that there is advice for. */
export function nextStepAfter(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const system = error as SystemError;
  if (typeof system.next === 'string') return system.next;
  const inner = nextStepAfter(system.cause);
  if (inner !== undefined) return inner;
  if (error instanceof Error && error.message === noSpace)
    return 'free some space on the disk of the data directory, or delete objects if the quota is full (--quota-backend-bytes)';
  if (error instanceof Error && error.message.startsWith(sealed))
    return "put the key that it was written with among the providers of --encryption-provider-config; is it a plugin's, see that the plugin is well";
  return typeof system.code === 'string' ? step[system.code]?.(system) : undefined;
}
