// How much memory a node keeps free by default, for those who choose options before there is a node.

/** Upstream's `memory.available` of defaultEvictionHard, by operating system. */
export const memoryFloors = { linux: '100Mi', windows: '500Mi' } as const;
