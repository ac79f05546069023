// What the types of flowcontrol are for: how requests share the API server.
export const flowcontrol: string = `
FlowSchema: Which requests form flows, and which priority level they belong to.
  spec: Which requests, and their level.
  status: Whether the level is there. Kept by the cluster: other writes leave it as it is.

FlowSchemaSpec: Requests, and their priority level.
  distinguisherMethod: What parts the requests into flows. Unset: they are all one flow.
  matchingPrecedence: Which schema is asked first: a lower number, 1 to 10000. Default 1000.
  priorityLevelConfiguration: The level. Needed.
  rules: The requests. One rule that fits is enough. Empty: none.

FlowDistinguisherMethod: What parts requests into flows.
  type: ByUser, or ByNamespace of what is asked for.

PriorityLevelConfigurationReference: Names a priority level.
  name: Its name.

PolicyRulesWithSubjects: Requests of somebody for something. At least one of resourceRules and nonResourceRules.
  nonResourceRules: Requests for paths that are no resources.
  resourceRules: Requests for resources.
  subjects: Who asks. At least one.

Subject: Who asks: the field of its kind is set.
  group: A group.
  kind: User, Group or ServiceAccount.
  serviceAccount: A service account.
  user: A user.

UserSubject: A user.
  name: The name. * means all.

GroupSubject: A group.
  name: The name. * means all.

ServiceAccountSubject: A service account.
  name: The name. * means all of the namespace.
  namespace: The namespace.

ResourcePolicyRule: Requests for resources. All fields must fit.
  apiGroups: Groups. * means all, and then stands alone.
  clusterScope: Whether requests without a namespace fit. Default false.
  namespaces: Namespaces. * means all of them. Needed unless clusterScope is true.
  resources: Resources, with subresources as nodes/status. * means all, and then stands alone.
  verbs: Verbs. * means all, and then stands alone.

NonResourcePolicyRule: Requests for paths that are no resources.
  nonResourceURLs: Paths, such as /healthz or /healthz/*. * means all, and then stands alone.
  verbs: Verbs. * means all, and then stands alone.

FlowSchemaStatus: How a schema stands.
  conditions: Dangling: whether its level is missing.

FlowSchemaCondition PriorityLevelConfigurationCondition: One side of its state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side.

PriorityLevelConfiguration: Requests that share a part of the server.
  spec: How large a part, and what happens beyond it.
  status: Sides of its state. Kept by the cluster: other writes leave it as it is.

PriorityLevelConfigurationSpec: A part of the server: the field of its type is set.
  exempt: What it lends, when it is exempt.
  limited: How large it is, when it is limited.
  type: Limited, or Exempt for requests that never wait.

ExemptPriorityLevelConfiguration: What a level lends whose requests never wait.
  lendablePercent: How much of its part others may use, in percent. Default 0.
  nominalConcurrencyShares: How large its part is beside the others. Default 0.

LimitedPriorityLevelConfiguration: How large a part of the server is.
  borrowingLimitPercent: How much it may use of others beyond its own, in percent of its own. Unset: no limit.
  lendablePercent: How much of its part others may use, in percent. Default 0.
  limitResponse: What happens to requests beyond it. Needed.
  nominalConcurrencyShares: How large its part is beside the others. Default 30. 0 is only what it borrows.

LimitResponse: What happens to requests for which there is no room.
  queuing: How they wait. Only with type Queue.
  type: Queue lets them wait, Reject answers 429.

QueuingConfiguration: How requests wait. Each flow is dealt a few of the queues, so that a large flow leaves room for others.
  handSize: How many queues a flow is dealt. Default 8; not more than queues.
  queueLengthLimit: How many requests may wait in a queue. More are answered 429. Default 50.
  queues: How many queues there are. Default 64; 1 makes the flows all alike.

PriorityLevelConfigurationStatus: How a level stands.
  conditions: Sides of its state, by type. The cluster itself sets none.
`;
