// What the types that all groups share are for: metadata, lists, selectors, conditions, answers.
export const meta: string = `
AnyKind: What all kinds have.
  apiVersion: Group and version of the kind, as group/version, or the version alone for the core group.
  kind: Name of the kind, such as Pod. Cannot be changed.
  metadata: Its name, namespace, labels and what the server keeps of it.

AnyList: Objects of one kind, as a read of many answers them, perhaps a page of them.
  apiVersion: Group and version of the list, as group/version, or the version alone for the core group.
  kind: Name of the kind of the list, such as PodList.
  items: The objects.
  metadata: The version at which the list was read, and where the next page goes on.

ObjectMeta: What every stored object has: names, labels, and what the server notes down.
  annotations: Notes for programs and people, as keys and values of any text, 256 KiB in all. They cannot be selected by.
  creationTimestamp: When the object was created. Set by the server.
  deletionGracePeriodSeconds: Seconds that the object has to end. Set by the server when it is deleted; can only be made smaller.
  deletionTimestamp: When the object is to be gone. Set by the server when it is deleted. It goes then once no finalizer is left, and it cannot be taken back.
  finalizers: Those who have something to do before the object goes, as names with a prefix. Each takes its own away. None can be added while the object is being deleted.
  generateName: Beginning of a name that the server completes when name is empty. It tries up to eight times before it answers 409.
  generation: Counts changes of what is wanted. Set by the server.
  labels: Keys and values by which objects are selected. A value has at most 63 characters.
  managedFields: Who last set which field. Kept by the server for server-side apply.
  name: Name of the object, unique for its kind in its namespace. Needed unless generateName is set. Cannot be changed.
  namespace: The namespace it is in. Unset for kinds that are in none. Cannot be changed.
  ownerReferences: Objects that this one belongs to: when all of them are gone, it is deleted. At most one of them is its controller.
  resourceVersion: Changes with each write. Sent along with an update, it makes the server refuse when somebody else wrote in between. Compare only for equality.
  selfLink: Never set any more.
  uid: Different for every object that ever was, also for those of one name. Set by the server.

OwnerReference: An owner of an object. It must be in the same namespace, or in none.
  apiVersion: Group and version of the owner.
  blockOwnerDeletion: True keeps the owner until this object is gone, when it is deleted in the foreground. Who sets it needs the right to change the owner's finalizers. Default false.
  controller: True for the one owner that looks after the object. Default false.
  kind: Kind of the owner.
  name: Name of the owner.
  uid: Uid of the owner. An owner of the same name and another uid counts as gone.

ManagedFieldsEntry: Fields that one manager has set.
  apiVersion: Version of the kind in which the fields are written.
  fieldsType: How the fields are written. Always FieldsV1.
  fieldsV1: The fields.
  manager: Who set them.
  operation: Apply or Update: how they were set.
  subresource: The subresource by which they were set. Empty: the object itself.
  time: When the manager last changed them.

FieldsV1: A set of fields as a tree: f:name for a field, k:{keys} for an item of a list by its keys, v:value by its value, and a dot for the item itself.

ListMeta: What a list says of itself.
  continue: Sent back as the parameter continue, it asks for the next page. Empty: this was the last. Good for some minutes.
  remainingItemCount: How many items follow this page, at least about. Unset: none, or not known, as with selectors.
  resourceVersion: The version at which the list was read. A watch may begin here.
  selfLink: Never set any more.
  shardInfo: Which part of all objects this list holds, where one part was asked for.

ShardInfo: Which part of all objects a list holds.
  selector: The selector of that part, as it was asked for.

LabelSelector: Selects objects by their labels. All requirements must hold. Empty: all objects.
  matchExpressions: Requirements with operators.
  matchLabels: Labels and the values that they must have.

LabelSelectorRequirement: A requirement of a label.
  key: The label.
  operator: In or NotIn a list, Exists or DoesNotExist.
  values: At least one for In and NotIn, none for the others.

FieldSelectorRequirement: A requirement of a field.
  key: The field.
  operator: In or NotIn a list, Exists or DoesNotExist.
  values: At least one for In and NotIn, none for the others.

Condition: One side of an object's state.
  lastTransitionTime: When status last changed.
  message: Details for people. May be empty.
  observedGeneration: The metadata.generation that the condition is about. When it is smaller than that of the object, the condition is out of date.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, in CamelCase, perhaps with a prefix.

DeleteOptions: How something is deleted.
  dryRun: All goes through every step and deletes nothing. No other value is known.
  gracePeriodSeconds: Seconds that the object has to end; 0 ends it at once. Unset: what is usual for the kind, such as 30 for pods.
  ignoreStoreReadErrorWithClusterBreakingPotential: True removes an object that cannot be read any more, without finalizers or checks. Only with a right of its own. Default false.
  orphanDependents: Former way to say propagationPolicy: true for Orphan, false for Background. Excludes it.
  preconditions: What must be true of the object, else the answer is 409.
  propagationPolicy: What happens to what belongs to it: Background deletes it afterwards (the default of most kinds), Foreground before, Orphan not at all.

Preconditions: What must be true of an object that is deleted.
  resourceVersion: The version it must have.
  uid: The uid it must have.

Status: An answer that is no object: how a request ended.
  code: Status code of HTTP.
  details: More for programs, by reason.
  message: What happened, for people.
  reason: Why, in one word, such as NotFound or AlreadyExists. Empty: not known.
  status: Success or Failure.

StatusDetails: More about a failure.
  causes: Each thing that was wrong.
  group: Group of the object.
  kind: Kind, or resource, of the object.
  name: Name of the object.
  retryAfterSeconds: Seconds after which to try again. For some failures: seconds to wait before going another way.
  uid: Uid of the object.

StatusCause: One thing that was wrong.
  field: The field, as a path such as spec.containers[0].image. Unset: none.
  message: What was wrong, for people.
  reason: What was wrong, in one word, such as FieldValueRequired.

WatchEvent: Something that a watch saw.
  object: The object as it is now, or was last when it was deleted. With ERROR a Status; with BOOKMARK only its resourceVersion counts.
  type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.

APIGroup: A group of kinds that is served, and its versions.
  name: Name of the group.
  preferredVersion: The version to use when there is no other wish.
  serverAddressByClientCIDRs: Addresses of the server for clients of certain ranges. Mostly unset.
  versions: The versions that are served.

GroupResource: A resource in whatever version.
  group: Its API group. Empty: the core group.
  resource: Its plural name.

GroupVersionForDiscovery: A version of a group.
  groupVersion: Group and version, as group/version.
  version: The version alone.

APIVersions: Versions of the core group.
  serverAddressByClientCIDRs: Addresses of the server for clients of certain ranges.
  versions: The versions that are served.

ServerAddressByClientCIDR: The server's address for clients of a range.
  clientCIDR: The range of the clients.
  serverAddress: The address, as name or name:port.

APIResourceList: The resources of a version of a group.
  groupVersion: Group and version, as group/version.
  resources: The resources and subresources.

APIResource: A resource that is served.
  categories: Names under which it is asked for with others, such as all.
  group: Group of the kind, where it is not that of the list.
  kind: Kind of its objects.
  name: Its name in paths, in the plural.
  namespaced: Whether its objects are in namespaces.
  shortNames: Names for typing, such as po.
  singularName: Its name in the singular.
  storageVersionHash: Tells in which version objects are stored. Compare only for equality.
  verbs: What can be done with it, such as get, list and watch.
  version: Version of the kind, where it is not that of the list.

APIGroupList: The groups that are served.
  groups: The groups.

PartialObjectMetadata: An object without anything but its metadata, for those who need no more.

Patch: A change to an object, in the form that the Content-Type says.

Time: A moment, to the second, as RFC 3339: 2026-01-31T12:00:00Z.
Duration: A length of time as Go writes it: 1m30.5s.
MicroTime: A moment, to the microsecond, as RFC 3339: 2026-01-31T12:00:00.000000Z.
`;

export const quantity: string = `
Quantity: An amount: a number with m (thousandth), k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent, such as 500m, 1.5 or 2Gi. Equal amounts may be written in several ways; the server may write back another.
`;

export const rawExtension: string = `
RawExtension: Any object, kept as it is.
`;

export const intOrString: string = `
IntOrString: A whole number or text, such as a port or its name, or a count or a percentage.
`;

export const version: string = `
Info: What the server is.
  buildDate: When it was built.
  compiler: What it was built with.
  emulationMajor: Major number of the version that it behaves as.
  emulationMinor: Minor number of the version that it behaves as.
  gitCommit: The commit that it was built from.
  gitTreeState: Whether that was changed: clean or dirty.
  gitVersion: Its version, such as v1.36.0.
  goVersion: Version of the language that it runs on.
  major: Major number of its version.
  minCompatibilityMajor: Major number of the oldest version that it gets on with.
  minCompatibilityMinor: Minor number of the oldest version that it gets on with.
  minor: Minor number of its version.
  platform: System and processor, as linux/amd64.
`;
