// What the types of the core group beside pods and volumes are for: Services, nodes, namespaces, configuration, quotas, events.
export const coreCluster: string = `
ConfigMap: Settings as keys and values that pods read as environment variables or files. Not for secrets. At most 1 MiB in all.
  binaryData: Values of any bytes, written as base64. Keys must not stand in data as well.
  data: Values of text. Keys are of letters, digits, dashes, underscores and dots.
  immutable: True keeps the data as it is for ever, which saves nodes from watching it. It cannot be taken back. Default false.

Secret: Passwords, keys and the like that pods read as environment variables or files. At most 1 MiB in all. Who may read Secrets of a namespace, or make pods in it, can see them.
  data: Values of any bytes, written as base64. Keys are of letters, digits, dashes, underscores and dots.
  immutable: True keeps the data as it is for ever, which saves nodes from watching it. It cannot be taken back. Default false.
  stringData: Values of plain text for writing: each goes into data, and replaces what is there. Never read back.
  type: What the data is, such as kubernetes.io/tls, which then must have certain keys. Default Opaque: anything. Cannot be changed.

ServiceAccount: An identity for the programs of pods. Its user name is system:serviceaccount:namespace:name.
  automountServiceAccountToken: Whether pods of this account find a token in their containers, unless they say otherwise. Unset: true.
  imagePullSecrets: Secrets with credentials for registries, for pods that name none themselves.
  secrets: Secrets that pods of this account may use, counted only when the annotation kubernetes.io/enforce-mountable-secrets is true.

Namespace: A part of the cluster in which names are unique. Deleting it deletes all that is in it.
  spec: What holds it back when it is deleted.
  status: Whether it is being deleted. Kept by the cluster: other writes leave it as it is.

NamespaceSpec: What holds a namespace back.
  finalizers: Those who must be done before the namespace goes. kubernetes is taken away when it is empty.

NamespaceStatus: How a namespace stands.
  conditions: Why it is not gone yet, while it is being deleted.
  phase: Active, or Terminating while it is being deleted: nothing new can be made in it.

NamespaceCondition: What keeps a namespace from going.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: What it is, such as NamespaceContentRemaining.

Service: One name and address for a set of pods. Connections to it go to those that are ready.
  spec: Which pods, at which ports, and reached from where.
  status: Its address at a load balancer. Kept by the cluster: other writes leave it as it is.

ServiceSpec: What a Service leads to and how it is reached.
  allocateLoadBalancerNodePorts: Whether a LoadBalancer Service gets node ports as well. False is for load balancers that do not need them. Default true; only with type LoadBalancer.
  clusterIP: The address inside the cluster. None makes the Service headless: DNS answers with the pods themselves. Unset: one is chosen. Cannot be changed, unless the type changes to or from ExternalName, which has none.
  clusterIPs: The addresses inside the cluster, at most one of each family. The first equals clusterIP.
  externalIPs: More addresses at which nodes take connections for the Service. Somebody else must lead them to the nodes.
  externalName: The name that DNS gives as an alias. Needed with type ExternalName, where nothing is forwarded.
  externalTrafficPolicy: Where connections from outside may go: Cluster to any node's pods (the default), Local only to those of the node they came to, which keeps the client's address. On Windows Local needs direct server return.
  healthCheckNodePort: Port at which each node says whether it has pods of the Service, for LoadBalancer Services with externalTrafficPolicy Local. Unset: one is chosen. Cannot be changed.
  internalTrafficPolicy: Where connections from inside may go: Cluster to any node's pods (the default), Local only to those of the same node, and nowhere when it has none.
  ipFamilies: The families of its addresses, IPv4 or IPv6, in order. Unset: by ipFamilyPolicy and the cluster. Only the second may be added or taken away.
  ipFamilyPolicy: SingleStack takes one family (the default), PreferDualStack both where the cluster has them, RequireDualStack both or none.
  loadBalancerClass: Which load balancer is to serve it, a name with a prefix. Unset: the cluster's default one. Only with type LoadBalancer; cannot be changed.
  loadBalancerIP: The address that the load balancer should take, where it can. No longer recommended: see the annotations of your load balancer.
  loadBalancerSourceRanges: Ranges of addresses from which the load balancer takes connections, where it can. Unset: all.
  ports: The ports of the Service. Needed unless it is headless or an ExternalName.
  publishNotReadyAddresses: True counts pods that are not ready as well, in DNS and in endpoints, for those who look for one another before they are. Default false.
  selector: Labels of the pods, all of them. Unset: nobody keeps the endpoints, and you write EndpointSlices yourself. Not with type ExternalName.
  sessionAffinity: ClientIP sends connections of one client address to the same pod; None does not (the default). On Windows from Server 2022 on.
  sessionAffinityConfig: How long that lasts.
  trafficDistribution: Which pods are preferred: PreferSameZone, PreferSameNode, or PreferClose, the former name of the first. Others are taken when there are none. Unset: all alike.
  type: How it is reached: ClusterIP inside the cluster (the default), NodePort at a port of every node as well, LoadBalancer from outside as well, ExternalName as an alias in DNS.

ServicePort: A port of a Service.
  appProtocol: What is spoken here, as a hint: a name of IANA, or one with a prefix such as kubernetes.io/h2c.
  name: Name of the port, a DNS label. Needed when there are several.
  nodePort: The port on every node, for NodePort and LoadBalancer. Unset: one is chosen, from 30000 to 32767 unless the cluster has another range.
  port: The port at the Service's address, 1 to 65535.
  protocol: TCP (the default), UDP or SCTP.
  targetPort: The port of the pods: a number, or the name of one of their ports, which may differ from pod to pod. Default equal to port. Headless Services ignore it.

SessionAffinityConfig: How long a client stays with a pod.
  clientIP: For clients by their address.

ClientIPConfig: How long a client address stays with a pod.
  timeoutSeconds: Seconds since its last connection, 1 to 86400 (a day). Default 10800 (three hours).

ServiceStatus: How a Service stands.
  conditions: Sides of its state, by type. Load balancers set them.
  loadBalancer: Where its load balancer takes connections. Empty unless the type is LoadBalancer.

LoadBalancerStatus: Where a load balancer takes connections.
  ingress: Its addresses.

LoadBalancerIngress: An address of a load balancer: ip, hostname or both.
  hostname: Its name.
  ip: Its address.
  ipMode: VIP when nodes may deliver to the address themselves (the default), Proxy when connections must pass the load balancer. Only with ip.
  ports: The ports and whether they work.

PortStatus: A port of a load balancer.
  error: What is wrong with it, in one word. Unset: nothing.
  port: Its number.
  protocol: TCP, UDP or SCTP.

Endpoints: The addresses behind a Service, in the older form, kept for old programs and cut at 1000 addresses. EndpointSlice has taken its place.
  subsets: Addresses with the ports that they share.

EndpointSubset: Addresses, each of which has each of the ports.
  addresses: Those that are ready.
  notReadyAddresses: Those that are not ready.
  ports: The ports. Empty: unknown.

EndpointAddress: An address behind a Service.
  hostname: Name of the host, for DNS.
  ip: The address. Neither loopback nor link-local.
  nodeName: The node that it is on.
  targetRef: The object behind it, mostly a pod.

EndpointPort: A port behind a Service.
  appProtocol: What is spoken here, as a hint.
  name: Name of the Service's port. Needed when there are several.
  port: Its number.
  protocol: TCP (the default), UDP or SCTP.

ReplicationController: Keeps a number of pods running, in the older form. Deployments and ReplicaSets have taken its place.
  spec: What is wanted.
  status: How many there are. Kept by the cluster: other writes leave it as it is.

ReplicationControllerSpec: How many pods are wanted, and of what kind.
  minReadySeconds: Seconds that a new pod must be ready before it counts as available. Default 0.
  replicas: How many pods. Default 1.
  selector: Labels of the pods that count. Unset: those of the template. The template's labels must match.
  template: What new pods are made of.

ReplicationControllerStatus: How many pods there are.
  availableReplicas: Pods that were ready for minReadySeconds.
  conditions: Sides of its state, by type: ReplicaFailure.
  fullyLabeledReplicas: Pods that have all labels of the template.
  observedGeneration: The metadata.generation that this status is about.
  readyReplicas: Pods that are ready.
  replicas: Pods that exist.

ReplicationControllerCondition: One side of a ReplicationController's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as ReplicaFailure.

Node: A machine that runs pods. The kubelet makes it when it starts and keeps its status.
  spec: How the node is used. Mostly taints and unschedulable are of interest.
  status: How the machine is. Kept by the kubelet: other writes leave it as it is.

NodeSpec: How a node is used.
  configSource: Settings of the kubelet from the API, which no kubelet reads any more.
  externalID: A former name at the cloud. Unused.
  podCIDR: The range of addresses of the node's pods.
  podCIDRs: Ranges of addresses of the node's pods, one of each family. The first equals podCIDR.
  providerID: Name of the machine at its provider, as provider://name. Once set it cannot be changed.
  taints: What keeps pods away that do not bear it. Windows nodes are often tainted with os=windows:NoSchedule.
  unschedulable: True keeps new pods away (kubectl cordon). Those that run stay. Default false.

Taint: Keeps pods away that have no toleration of it.
  effect: NoSchedule lets no new pod come, PreferNoSchedule only if need be, NoExecute also sends those away that run.
  key: Its key, such as node.kubernetes.io/not-ready.
  timeAdded: When it was put on. Pods count their tolerationSeconds from then.
  value: Its value. Default empty.

NodeConfigSource: Where settings of a kubelet were found once. No longer used.
  configMap: A ConfigMap.

ConfigMapNodeConfigSource: A key of a ConfigMap with settings of a kubelet. No longer used.
  kubeletConfigKey: The key.
  name: Name of the ConfigMap.
  namespace: Its namespace.
  resourceVersion: Its version, as the node found it. Only in status.
  uid: Its uid, as the node found it. Only in status.

NodeConfigStatus: Which settings a kubelet used. No longer used.
  active: Those in use.
  assigned: Those that it was told to use.
  error: Why they could not be used.
  lastKnownGood: Those that it goes back to.

NodeStatus: What a kubelet says of its machine.
  addresses: Its addresses and names.
  allocatable: What of each resource pods may use: capacity less what the system keeps.
  capacity: What the machine has of each resource.
  conditions: How it stands, such as Ready, MemoryPressure and DiskPressure. Windows nodes know no PIDPressure.
  config: Which settings from the API the kubelet used. No longer used.
  daemonEndpoints: Ports of the kubelet.
  declaredFeatures: Names of features that the node can do, which the scheduler looks at.
  features: What its container runtime can do as a whole.
  images: Images on the node, the largest first, at most 50 unless the kubelet is told otherwise.
  nodeInfo: Versions, names and kind of the machine.
  phase: Never set any more.
  runtimeHandlers: What each handler of the container runtime can do.
  volumesAttached: Volumes that are attached to the node.
  volumesInUse: Volumes that are mounted, which must not be detached.

NodeAddress: An address or a name of a node.
  address: The address or name.
  type: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.

NodeCondition: One side of a node's state.
  lastHeartbeatTime: When the kubelet last said so.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as Ready.

NodeDaemonEndpoints: Ports of what runs on a node.
  kubeletEndpoint: The kubelet's.

DaemonEndpoint: A port.
  Port: Its number.

NodeFeatures: What the container runtime of a node can do.
  supplementalGroupsPolicy: Whether it knows the supplementalGroupsPolicy of pods.

NodeRuntimeHandler: A handler of a node's container runtime.
  features: What it can do.
  name: Its name, as RuntimeClasses call it. Empty: the default one.

NodeRuntimeHandlerFeatures: What a handler can do.
  recursiveReadOnlyMounts: Whether it can mount read-only with all that lies below.
  userNamespaces: Whether it can give pods a user namespace. Never on Windows.

NodeSystemInfo: A machine and its software.
  architecture: The processor, such as amd64 or arm64.
  bootID: Changes with each start of the machine.
  containerRuntimeVersion: The runtime and its version, as containerd://2.0.0.
  kernelVersion: Version of the kernel; on Windows of the system, such as 10.0.20348.2227.
  kubeProxyVersion: No longer used.
  kubeletVersion: Version of the kubelet.
  machineID: Stays the same as long as the system is installed.
  operatingSystem: linux or windows.
  osImage: Name of the system, such as Windows Server 2022 Datacenter.
  swap: Its swap space. Absent on Windows.
  systemUUID: Given by the maker of the machine.

NodeSwapStatus: The swap space of a node.
  capacity: Its size in bytes.

AttachedVolume: A volume that is attached to a node.
  devicePath: Where its device is on the node.
  name: Its name.

ContainerImage: An image on a node.
  names: What it is called, with digests and tags.
  sizeBytes: Its size in bytes.

ResourceQuota: How much may be made or used in a namespace. A request that would exceed it is refused.
  spec: What is limited.
  status: The limits, and what is used. Kept by the cluster: other writes leave it as it is.

ResourceQuotaSpec: Limits of a namespace, and what counts.
  hard: The most of each resource: sums such as requests.cpu and limits.memory, storage such as requests.storage, and counts such as pods or count/deployments.apps.
  scopeSelector: As scopes, with requirements. All must hold.
  scopes: Counts only what fits all of these, such as BestEffort pods or those of a PriorityClass. Unset: everything.

ScopeSelector: What counts for a quota.
  matchExpressions: Requirements that must all hold.

ScopedResourceSelectorRequirement: A requirement of what counts for a quota.
  operator: Exists or DoesNotExist, or In or NotIn for PriorityClass and VolumeAttributesClass. Other scopes take Exists only.
  scopeName: The scope, such as PriorityClass.
  values: Names for In and NotIn, at least one. None otherwise.

ResourceQuotaStatus: How a quota stands.
  hard: The limits.
  used: What is used of each.

LimitRange: Limits and defaults for each pod, container or claim of a namespace.
  spec: The limits.

LimitRangeSpec: Limits and defaults.
  limits: One entry for each kind of thing.

LimitRangeItem: Limits and defaults for one kind of thing.
  default: Limits of containers that set none. Default equal to max. Only with type Container.
  defaultRequest: Requests of containers that set none. Default equal to default, else to min. Only with type Container.
  max: The greatest allowed of each resource.
  maxLimitRequestRatio: How many times its request a limit may be at most.
  min: The least allowed of each resource.
  type: Container, Pod for the sum of its containers, or PersistentVolumeClaim.

Event: Something that happened to an object. Kept for about an hour. The same object as an Event of events.k8s.io.
  action: What was done or failed, in one word. Empty in those written in the older form.
  count: How often it happened.
  eventTime: When it first happened, to the microsecond.
  firstTimestamp: When it first happened.
  involvedObject: The object that it happened to.
  lastTimestamp: When it last happened.
  message: What happened, for people.
  reason: Why, in one word of CamelCase, for programs.
  related: A second object that has to do with it.
  reportingComponent: Who says so, such as kubelet.
  reportingInstance: Which one of them, such as the name of the node.
  series: How often it happened, in the newer form. Unset: once.
  source: Who says so, in the older form.
  type: Normal, or Warning.

EventSeries: A thing that happens again and again.
  count: How often so far.
  lastObservedTime: When it last happened.

EventSource: Who reports an event.
  component: The program.
  host: The node it runs on.

ComponentStatus: Whether a part of the control plane answers. No longer recommended; see the health paths of each.
  conditions: What was found out.

ComponentCondition: What was found out of a component.
  error: What was wrong, in short.
  message: What it said, or what was wrong.
  status: True, False or Unknown.
  type: Always Healthy.

ObjectReference: Names another object. Which fields count depends on where it stands.
  apiVersion: Its group and version.
  fieldPath: A part of it, such as spec.containers{name}.
  kind: Its kind.
  name: Its name.
  namespace: Its namespace. Empty when it has none.
  resourceVersion: The version of it that is meant. Unset: any.
  uid: Its uid. Unset: any object of the name.

LocalObjectReference: Names an object of the same namespace.
  name: Its name.

SecretReference: Names a Secret of any namespace.
  name: Its name.
  namespace: Its namespace.

TypedLocalObjectReference: Names an object of any kind in the same namespace.
  apiGroup: Its group. Unset: the core group.
  kind: Its kind.
  name: Its name.

TypedObjectReference: Names an object of any kind.
  apiGroup: Its group. Unset: the core group.
  kind: Its kind.
  name: Its name.
  namespace: Its namespace. Another than one's own needs a ReferenceGrant there. Unset: the same.

TopologySelectorTerm: Places where volumes may be made. All requirements must hold.
  matchLabelExpressions: Requirements of labels of nodes.

TopologySelectorLabelRequirement: A requirement of a node's label.
  key: The label.
  values: The values that are allowed, of which one must hold.
`;
