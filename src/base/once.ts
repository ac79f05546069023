// Work that is done once, however often it is asked for.

/** Whoever calls again gets what came of the first call. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
