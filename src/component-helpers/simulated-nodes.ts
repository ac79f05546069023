// What tells that the pods of a node only pretend, and what they pretend to use.

/** Node label, `true` on every node of a simulated runtime. */
export const simulatedNodeLabel = 'porthole.dev/simulated';

/**
 * Of a pod on a simulated node: what all its containers together use, as quantities; read anew each time, so that a load
 * can come and go. Default: half of what they request, or next to nothing.
 */
export const annotationSimulatedCpuUsage = 'porthole.dev/simulated-cpu-usage';
export const annotationSimulatedMemoryUsage = 'porthole.dev/simulated-memory-usage';
