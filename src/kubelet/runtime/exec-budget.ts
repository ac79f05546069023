// How much a program may be started with: counted while it is made, so that what no kernel takes is never made at all.

/** What Linux takes as one argument or variable (MAX_ARG_STRLEN); Windows takes less. */
export const maxStringBytes: number = 128 * 1024;

/**
 * Linux takes 2 MiB of arguments and variables together (a quarter of the usual 8 MiB of stack). The runtime keeps each
 * container's in memory at several times that size, so that a container has half of it for each of the two.
 */
const maxBytes = 1024 * 1024;

/** Short variables cost the runtime as much as long ones. */
const maxEntries = 16 * 1024;

export interface ExecBudget {
  /** Counts entries that are not made yet. Throws Error when there would be too many. */
  reserve(entries: number): void;
  /** Counts the bytes of one entry of `reserve`; a variable's parts are joined by `=`. Throws Error. */
  spend(...parts: readonly string[]): void;
}

/** `whole` is what the messages name; `hint` is what to do about it. */
export function createExecBudget(whole: string, hint = ''): ExecBudget {
  let bytes = 0;
  let entries = 0;
  return {
    reserve: (more) => {
      entries += more;
      if (entries > maxEntries) throw new Error(`${whole} has more than ${maxEntries} entries${hint}`);
    },
    spend: (...parts) => {
      // With the `=` between the parts and the zero at the end, as the kernel counts.
      const length = parts.reduce((sum, part) => sum + Buffer.byteLength(part) + 1, 0);
      if (length > maxStringBytes) {
        const name = parts.length > 1 ? ` "${parts[0]!.slice(0, 256)}"` : '';
        throw new Error(`${whole} has an entry${name} of more than ${maxStringBytes} bytes`);
      }
      bytes += length;
      if (bytes > maxBytes) throw new Error(`${whole} has more than ${maxBytes} bytes${hint}`);
    },
  };
}
