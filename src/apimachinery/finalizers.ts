// Names of finalizers. Pure.

const standard: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** One of Kubernetes' own, or one that says by its domain whose it is. */
export const isKnownFinalizer = (name: string): boolean => name.includes('/') || standard.has(name);
