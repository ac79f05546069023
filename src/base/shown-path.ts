// A path or key as people are told of it: one of a megabyte is an attack, and would be told a hundred times.

export const maxShownPath = 1024;

export const shownPath = (path: string): string =>
  path.length > maxShownPath ? `${path.slice(0, maxShownPath)}…` : path;
