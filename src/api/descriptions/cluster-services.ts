// What the types of small groups are for: coordination, events, node, policy, scheduling, aggregation of other API servers.
export const coordination: string = `
Lease: Says who does something at the moment, and until when. Nodes show by it that they are alive, and programs choose their leader.
  spec: The holder, and its times.

LeaseSpec: Who holds a lease, and until when.
  acquireTime: When its holder got it.
  holderIdentity: Its holder. Empty: nobody.
  leaseDurationSeconds: Seconds after renewTime when others may take it. Greater than 0.
  leaseTransitions: How often it went from one holder to another.
  preferredHolder: Who should get it. Only with strategy.
  renewTime: When its holder last said that it still holds it.
  strategy: How its holder is chosen by the cluster. Unset: holders settle it among themselves.
`;

export const events: string = `
Event: Something that happened to an object. Kept for about an hour. The same object as an Event of the core group.
  action: What was done or failed, in one word of at most 128 characters.
  deprecatedCount: How often it happened, in the older form.
  deprecatedFirstTimestamp: When it first happened, in the older form.
  deprecatedLastTimestamp: When it last happened, in the older form.
  deprecatedSource: Who says so, in the older form.
  eventTime: When it first happened.
  note: What happened, for people. At most 1024 bytes.
  reason: Why, in one word of at most 128 characters, for programs.
  regarding: The object that it happened to.
  related: A second object that has to do with it.
  reportingController: Who says so, such as kubelet.
  reportingInstance: Which one of them, in at most 128 characters.
  series: How often it happened. Unset: once.
  type: Normal, or Warning.

EventSeries: A thing that happens again and again.
  count: How often so far. At least 2.
  lastObservedTime: When it last happened.
`;

export const node: string = `
RuntimeClass: A way in which nodes run containers, that pods may name.
  handler: Name of the handler in the configuration of the nodes' container runtime, such as runhcs-wcow-process. Cannot be changed.
  overhead: What pods of the class use beside their containers.
  scheduling: The nodes that have the handler. Unset: all of them.

Overhead: What a pod uses beside its containers.
  podFixed: How much of each resource.

Scheduling: Which nodes pods of a class go to.
  nodeSelector: Labels of the nodes, which are joined with those of the pod. A pod that wants another value for one of them is refused.
  tolerations: Taints that pods of the class bear, beside their own.
`;

export const policy: string = `
PodDisruptionBudget: How many pods of a kind may be away at once when somebody evicts them, such as when nodes are drained.
  spec: Which pods, and how many of them.
  status: How many may go at the moment. Kept by the cluster: other writes leave it as it is.

PodDisruptionBudgetSpec: How many pods may be away. Exactly one of maxUnavailable and minAvailable is set.
  maxUnavailable: How many may be away, as a number or a percentage that is rounded up. 0 lets none go. Pods must belong to a workload.
  minAvailable: How many must stay, as a number or a percentage that is rounded up. 100% lets none go.
  selector: The pods. Empty: all of the namespace. Unset: none.
  unhealthyPodEvictionPolicy: Whether pods that are not ready may go: IfHealthyBudget only when enough others are ready (the default), AlwaysAllow always.

PodDisruptionBudgetStatus: How many pods may go at the moment.
  conditions: DisruptionAllowed, and why not.
  currentHealthy: Pods that are ready.
  desiredHealthy: Pods that must be ready.
  disruptedPods: Pods whose eviction was allowed and that are not gone yet, with the time.
  disruptionsAllowed: Pods that may go now.
  expectedPods: Pods that are counted.
  observedGeneration: The metadata.generation that this status is about. No eviction is allowed while it is out of date.

Eviction: Asks that a pod go, as far as budgets allow; sent to its eviction subresource. Answered 429 when none may go at the moment.
  deleteOptions: How the pod is deleted.
`;

export const scheduling: string = `
PriorityClass: How important pods are that name it.
  description: For whom the class is, for people.
  globalDefault: True for the class of pods that name none. Only one may be so. Default false.
  preemptionPolicy: Whether pods of lower priority may be ended to make room: PreemptLowerPriority (the default) or Never. Cannot be changed.
  value: The priority, a higher number first, at most 1000000000. Cannot be changed. Greater ones are for the classes of the system.
`;

export const apiregistration: string = `
APIService: Says who serves a version of a group: this server, or another one behind a Service. Its name is version.group.
  spec: The server behind it.
  status: Whether they can be reached. Kept by the cluster: other writes leave it as it is.

APIServiceSpec: Who serves a version of a group.
  caBundle: Certificates of authorities that the other server's certificate is checked against, as PEM written as base64. Unset: those of the system.
  group: The group.
  groupPriorityMinimum: Which group comes first where a name is in several, and in discovery: a higher number first, 1 to 20000. The highest of its versions counts.
  insecureSkipTLSVerify: True does not check the other server's certificate. Default false; excludes caBundle.
  service: The Service of the other server. Unset: this server serves it.
  version: The version.
  versionPriority: Which version of the group comes first: a higher number first, 1 to 1000.

ServiceReference: Names a Service.
  name: Its name.
  namespace: Its namespace.
  port: Its port, 1 to 65535. Default 443.

APIServiceStatus: Whether a version can be asked for.
  conditions: Available, and why not.

APIServiceCondition: One side of an APIService's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as Available.
`;
