// What the types of resource.k8s.io are for: devices and claims of them.
const deviceRequest: string = `  allocationMode: ExactCount takes as many as count (the default), All every device that fits, and all of them must be free.
  capacity: How much of the device's capacity is asked for, where it can be shared. Unset: as the device says.
  count: How many devices, greater than 0. Default 1. Only with ExactCount.
  deviceClassName: The DeviceClass.
  selectors: What the devices must be like beside the class. All must hold, at most 32.
  tolerations: Taints of devices that the claim bears, at most 16.
`;

export const resource: string = `
DeviceClass: A kind of device that claims may ask for, with settings.
  spec: Which devices, and their settings.

DeviceClassSpec: Which devices are of a class.
  config: Settings for the drivers, at most 32. They come before those of claims.
  extendedResourceName: An extended resource, such as example.com/gpu, that containers may ask for in their limits to get such a device without a claim.
  selectors: What the devices must be like. All must hold, at most 32.

DeviceClassConfiguration: Settings of a class.
  opaque: Settings that one driver knows.

DeviceSelector: What a device must be like. Exactly one field is set.
  cel: An expression.

CELDeviceSelector: An expression that chooses devices.
  expression: In CEL: true for the devices that fit. It sees device.driver, device.attributes and device.capacity by domain, such as device.attributes["example.com"].model.

ResourceClaim: Asks for devices that pods use.
  spec: Which devices. Cannot be changed.
  status: Which devices it has got, and who uses them. Kept by the cluster: other writes leave it as it is.

ResourceClaimTemplate: A template of claims: each pod that names it gets a claim of its own.
  spec: What the claims are made of. Cannot be changed.

ResourceClaimTemplateSpec: What claims are made of.
  metadata: Labels and annotations of the claims. No other field is allowed.
  spec: Which devices.

ResourceClaimSpec: Which devices are asked for.
  devices: The devices.

DeviceClaim: Devices that are asked for.
  config: Settings for the drivers, at most 32.
  constraints: What must hold for the devices together, at most 32.
  requests: Each device, or number of equal devices, at most 32. All must be met.

DeviceRequest: A device, or a number of equal devices. Exactly one of exactly and firstAvailable is set.
  exactly: What is asked for.
  firstAvailable: Several wishes of which the first is met that can be, at most 8.
  name: Name of the request, a DNS label, for containers and settings.

ExactDeviceRequest: Devices of one class.
  adminAccess: True gives access to devices for looking after them, also to those that others have. Only in namespaces with the label resource.kubernetes.io/admin-access: true. Default false.
${deviceRequest}
DeviceSubRequest: One of several wishes.
${deviceRequest}  name: Name of the wish, a DNS label. It is named as request/wish.

CapacityRequirements: How much of a device is asked for.
  requests: How much of each capacity. It is rounded up as the device says. A device without such a capacity does not fit.

DeviceToleration: Taints of devices that a claim bears.
  effect: NoSchedule, NoExecute or None. Unset: all of them.
  key: The key of the taint. Unset, with operator Exists: every taint.
  operator: Equal to value (the default) or Exists whatever the value.
  tolerationSeconds: Seconds that a pod stays after a NoExecute taint appeared. Unset: for ever. Only with effect NoExecute.
  value: The value of the taint. Empty with operator Exists.

DeviceConstraint: What must hold for several devices together. Exactly one of distinctAttribute and matchAttribute is set.
  distinctAttribute: An attribute, with its domain, that must have another value for each of them.
  matchAttribute: An attribute, with its domain, that must have the same value for all of them.
  requests: The requests that it is for. Empty: all.

DeviceClaimConfiguration: Settings of a claim.
  opaque: Settings that one driver knows.
  requests: The requests that they are for. Empty: all.

OpaqueDeviceConfiguration: Settings that one driver knows.
  driver: Name of the driver.
  parameters: The settings, an object with kind and apiVersion, at most 10 KiB.

ResourceClaimStatus: What a claim has got.
  allocation: The devices. Unset: none yet.
  devices: What the drivers say of the devices.
  reservedFor: Who uses them, mostly pods, at most 256. It can be given back when this is empty.

AllocationResult: Devices that a claim has got.
  allocationTimestamp: When it got them.
  devices: The devices.
  nodeSelector: Nodes from which they can be reached. Unset: all.

DeviceAllocationResult: Devices, and their settings.
  config: Settings of the class and of the claim, in the order in which they count.
  results: The devices.

DeviceAllocationConfiguration: Settings of a class or a claim.
  opaque: Settings that one driver knows.
  requests: The requests that they are for. Empty: all.
  source: FromClass or FromClaim: where they come from.

DeviceRequestAllocationResult: A device that meets a request.
  adminAccess: Whether it was given for looking after it.
  bindingConditions: Conditions that must be True before the pod is put on its node.
  bindingFailureConditions: Conditions of which one that is True makes the scheduler look again.
  consumedCapacity: How much of the device it takes, where it is shared.
  device: Name of the device in its pool.
  driver: Name of the driver.
  pool: Name of the pool.
  request: The request, or request/wish.
  shareID: Tells apart those that share the device.
  tolerations: Taints that the request bears.

ResourceClaimConsumerReference: Somebody who uses a claim.
  apiGroup: The group. Empty: the core group.
  name: The name.
  resource: The resource, such as pods.
  uid: The uid.

AllocatedDeviceStatus: What a driver says of a device.
  conditions: How it stands, at most 8.
  data: Whatever the driver wants to say, at most 10 KiB.
  device: Name of the device in its pool.
  driver: Name of the driver.
  networkData: Its address, for network devices.
  pool: Name of the pool.
  shareID: Tells apart those that share the device.

NetworkDeviceData: A network device in a pod.
  hardwareAddress: Its hardware address, such as a MAC.
  interfaceName: Its name in the pod.
  ips: Its addresses with their ranges, such as 192.0.2.5/24, at most 16.

ResourceSlice: Devices of one driver, of one node or of several. Kept by drivers for the scheduler.
  spec: The devices.

ResourceSliceSpec: Devices of a pool. Exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is set.
  allNodes: True when all nodes can reach them.
  devices: The devices, at most 128, or 64 when one has taints or consumes counters. Excludes sharedCounters.
  driver: Name of the driver, a domain. Cannot be changed.
  nodeName: The node that has them. Cannot be changed.
  nodeSelector: Nodes that can reach them.
  perDeviceNodeSelection: True when each device says which nodes can reach it.
  pool: The pool that the slice is a part of.
  sharedCounters: Amounts that devices of the pool share, at most 8 sets. Excludes devices.

ResourcePool: A pool of devices, in one slice or several.
  generation: Goes up with each change of the pool. Slices of a lower one no longer count.
  name: Name of the pool, often that of the node. Cannot be changed.
  resourceSliceCount: How many slices the pool has. Until all are there it is not used.

Device: A device. At most one of nodeName, nodeSelector and allNodes, and only with perDeviceNodeSelection.
  allNodes: True when all nodes can reach it.
  allowMultipleAllocations: Whether several requests may share it. Default false.
  attributes: What it is like, by names that may have a domain. With capacity at most 32.
  bindingConditions: Conditions that must be True before a pod is put on its node, at most 4. Only with bindingFailureConditions.
  bindingFailureConditions: Conditions of which one that is True makes the scheduler look again, at most 4. Only with bindingConditions.
  bindsToNode: Whether a claim with it is tied to the node that the scheduler chose. Default false.
  capacity: How much it has of what, by names that may have a domain.
  consumesCounters: What it takes of amounts that devices share, at most 2 sets.
  name: Its name, a DNS label, unique in the pool.
  nodeAllocatableResourceMappings: What its use takes of resources of the node, such as cpu or memory.
  nodeName: The node that has it.
  nodeSelector: Nodes that can reach it.
  taints: What keeps claims away that do not bear it, at most 16.

NodeAllocatableResourceMapping: What the use of a device takes of a resource of the node.
  allocationMultiplier: How much for each device, or for each unit of capacityKey.
  capacityKey: The capacity by which it is counted. Unset: by devices.

DeviceAttribute: What a device is like. Exactly one field is set.
  bool: True or false.
  bools: Several of true and false.
  int: A whole number.
  ints: Several whole numbers.
  string: Text of at most 64 characters.
  strings: Several texts.
  version: A version, as semver.org has it, of at most 64 characters.
  versions: Several versions.

DeviceCapacity: How much a device has of something.
  requestPolicy: How it is parted, where the device can be shared. Unset: each request takes all of it.
  value: How much in all.

CapacityRequestPolicy: How a capacity is parted. At most one of validRange and validValues is set.
  default: How much a request takes that names nothing.
  validRange: Amounts within bounds.
  validValues: Amounts that are allowed, in ascending order. A request is rounded up to one, at most 10.

CapacityRequestPolicyRange: Amounts within bounds.
  max: The greatest. Unset: all that the device has.
  min: The least. Smaller requests take this.
  step: Amounts are min and so many times this. A request is rounded up.

CounterSet: Amounts that devices share.
  counters: The amounts by name, at most 32.
  name: Name of the set, a DNS label, unique in the pool.

Counter: An amount that devices share.
  value: How much.

DeviceCounterConsumption: What a device takes of amounts that are shared.
  counterSet: Name of the set.
  counters: How much of each, at most 32.

DeviceTaint: Keeps claims away that do not bear it.
  effect: NoSchedule lets no new claim have the device, NoExecute also ends pods that use it, None only tells.
  key: Its key.
  timeAdded: When it was put on.
  value: Its value. Default empty.
`;
