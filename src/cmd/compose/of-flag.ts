// Errors that come from a file say which file it was, and which flag named it: a server has a dozen of either.

/** What `make` makes of the file that the flag names. */
export function ofFlag<T>(flag: string, file: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new Error(`--${flag} ${file}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
