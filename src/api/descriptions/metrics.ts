// What the types of the metrics API are for.
export const metrics: string = `
NodeMetrics: What a node used lately.
  timestamp: When it was measured: the end of the window.
  window: The time over which processors are averaged.
  usage: How much of each resource was used: cpu as an average of the window, memory at its end.

PodMetrics: What the containers of a pod used lately.
  timestamp: When it was measured: the end of the window.
  window: The time over which processors are averaged.
  containers: The containers that ran.

ContainerMetrics: What a container used lately.
  name: The container's name in its pod.
  usage: How much of each resource was used: cpu as an average of the window, memory at its end.

NodeMetricsList: What nodes used.

PodMetricsList: What pods used.
`;
