// What tells that the pods of a node only pretend.

/** Node label, `true` on every node of a simulated runtime. */
export const simulatedNodeLabel = 'porthole.dev/simulated';
