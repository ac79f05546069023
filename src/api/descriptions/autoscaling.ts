// What the types of autoscaling are for, in both versions.
const target: string = `
CrossVersionObjectReference: Names an object of the same namespace.
  apiVersion: Its group and version. Unset: the core group.
  kind: Its kind.
  name: Its name.
`;

export const autoscalingV1: string = `${target}
HorizontalPodAutoscaler: Changes the number of a workload's pods by the processor time that they use. Version v2 knows more.
  spec: Which workload, and how many pods it may have.
  status: How many pods there are and should be. Kept by the cluster: other writes leave it as it is.

HorizontalPodAutoscalerSpec: Which workload is scaled, and within which bounds.
  maxReplicas: The most pods. Not less than minReplicas.
  minReplicas: The fewest pods. Default 1.
  scaleTargetRef: The workload. It must have a scale subresource.
  targetCPUUtilizationPercentage: Processor time that pods should use on average, in percent of what they request. Unset: a default of 80.

HorizontalPodAutoscalerStatus: How many pods there are and should be.
  currentCPUUtilizationPercentage: Processor time that pods use on average, in percent of what they request.
  currentReplicas: Pods that there are.
  desiredReplicas: Pods that there should be.
  lastScaleTime: When the number was last changed.
  observedGeneration: The metadata.generation that this status is about.

Scale: The number of pods of a workload, as the scale subresource shows it for all kinds alike.
  spec: How many are wanted.
  status: How many there are.

ScaleSpec: How many pods are wanted.
  replicas: The number. Default 0.

ScaleStatus: How many pods there are.
  replicas: The number.
  selector: Labels of the pods, as text.
`;

export const autoscalingV2: string = `${target}
HorizontalPodAutoscaler: Changes the number of a workload's pods by what they use or by other measures.
  spec: Which workload, by which measures, and how many pods it may have.
  status: What was measured, and how many pods there are and should be. Kept by the cluster: other writes leave it as it is.

HorizontalPodAutoscalerSpec: Which workload is scaled, by which measures, and within which bounds.
  behavior: How fast the number goes up and down. Unset: up at once, by at most the double or 4 pods in 15 seconds; down to the greatest wish of the last 300 seconds.
  maxReplicas: The most pods. Not less than minReplicas.
  metrics: The measures. The one that asks for the most pods counts. Unset: processor time at 80 percent of requests.
  minReplicas: The fewest pods. Default 1. 0 needs a measure of type Object or External, and a server that allows it.
  scaleTargetRef: The workload. It must have a scale subresource.

HorizontalPodAutoscalerBehavior: How fast the number of pods changes.
  scaleDown: How it goes down. Unset: to minReplicas if need be, after 300 seconds of the same wish.
  scaleUp: How it goes up. Unset: the greater of 4 pods and the double in 15 seconds, at once.

HPAScalingRules: How fast the number goes in one direction.
  policies: Limits of a change. At least one. Unset: as behavior says.
  selectPolicy: Which limit counts: Max the one that allows most (the default), Min the least, Disabled no change in this direction.
  stabilizationWindowSeconds: Seconds to look back, 0 to 3600: down goes to the greatest wish of that time, up to the smallest. Default 0 up, 300 down.
  tolerance: How far a measure may be from its target before anything changes, as a part of it: 0.05. Unset: what the cluster has, mostly 0.1.

HPAScalingPolicy: A limit of a change.
  periodSeconds: In how many seconds, 1 to 1800.
  type: What value counts: Pods, or Percent of the pods there are.
  value: How much at most. Greater than 0.

MetricSpec: A measure, and what it should be. The field of its type is set.
  containerResource: cpu or memory of one container of each pod.
  external: A measure of something outside the cluster.
  object: A measure of one object of the cluster.
  pods: A measure of each pod, on average.
  resource: cpu or memory of the pods.
  type: Which of the fields: ContainerResource, External, Object, Pods or Resource.

MetricTarget: What a measure should be. The field of its type is set.
  averageUtilization: Average over all pods, in percent of what they request. Only for Resource and ContainerResource.
  averageValue: Average over all pods, as an amount.
  type: Utilization, Value or AverageValue.
  value: The amount itself.

MetricIdentifier: A measure by name.
  name: Its name.
  selector: Labels by which the source of measures chooses among those of the name. Unset: the name alone.

ResourceMetricSource: What pods use of a resource.
  name: cpu or memory.
  target: What it should be.

ContainerResourceMetricSource: What one container of each pod uses of a resource.
  container: Name of the container.
  name: cpu or memory.
  target: What it should be.

PodsMetricSource: Something that is measured of each pod, such as its requests in a second.
  metric: The measure.
  target: What it should be on average. Only AverageValue.

ObjectMetricSource: Something that is measured of one object, such as hits of an Ingress.
  describedObject: The object.
  metric: The measure.
  target: What it should be: Value, or AverageValue for that divided by the pods.

ExternalMetricSource: Something that is measured outside the cluster, such as the length of a queue.
  metric: The measure.
  target: What it should be: Value, or AverageValue for that divided by the pods.

HorizontalPodAutoscalerStatus: What was measured, and how many pods there are and should be.
  conditions: Whether it can scale, does, and is held by its bounds.
  currentMetrics: What was measured last.
  currentReplicas: Pods that there are.
  desiredReplicas: Pods that there should be.
  lastScaleTime: When the number was last changed.
  observedGeneration: The metadata.generation that this status is about.

HorizontalPodAutoscalerCondition: One side of an autoscaler's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side: AbleToScale, ScalingActive or ScalingLimited.

MetricStatus: What a measure was. The field of its type is set.
  containerResource: What one container of each pod used.
  external: Something outside the cluster.
  object: Something of one object of the cluster.
  pods: Something of each pod, on average.
  resource: What the pods used of cpu or memory.
  type: Which of the fields: ContainerResource, External, Object, Pods or Resource.

MetricValueStatus: What was measured.
  averageUtilization: Average over all pods, in percent of what they request.
  averageValue: Average over all pods, as an amount.
  value: The amount itself.

ResourceMetricStatus: What pods used of a resource.
  current: How much.
  name: cpu or memory.

ContainerResourceMetricStatus: What one container of each pod used of a resource.
  container: Name of the container.
  current: How much.
  name: cpu or memory.

PodsMetricStatus: Something that was measured of each pod.
  current: How much.
  metric: The measure.

ObjectMetricStatus: Something that was measured of one object.
  current: How much.
  describedObject: The object.
  metric: The measure.

ExternalMetricStatus: Something that was measured outside the cluster.
  current: How much.
  metric: The measure.
`;
