// What the types of admissionregistration are for.
const hook: string = `  admissionReviewVersions: Versions of AdmissionReview that the webhook reads, the preferred first. The server takes the first that it knows: v1.
  clientConfig: How the webhook is reached.
  failurePolicy: What happens when it cannot be asked or its answer cannot be read: Fail refuses the request (the default), Ignore lets it pass.
  matchConditions: Expressions that must all be true for it to be asked, at most 64. They are looked at last.
  matchPolicy: Equivalent asks it for the same object in another version as well, in the one of its rules (the default); Exact does not.
  name: Its name, of at least three parts, such as pods.policy.example.com. Unique in the configuration.
  namespaceSelector: Namespaces of the objects, by their labels; a Namespace counts by its own. Objects of no namespace always fit. Default empty: all.
  objectSelector: The object by its labels, old or new. Who writes the object can avoid the webhook by its labels. Default empty: all.
  rules: Operations and resources for which it is asked. One that fits is enough. It is never asked about webhook configurations and admission policies.
  sideEffects: Whether it does anything beside its answer: None, or NoneOnDryRun. Requests of a dry run are refused where a webhook is not of these.
  timeoutSeconds: Seconds to wait for its answer, 1 to 30. Default 10.
`;

const condition: string = `  failurePolicy: What happens when an expression or the policy cannot be evaluated: Fail refuses the request (the default), Ignore lets it pass.
  matchConditions: Expressions that must all be true for the policy to count, at most 64. They are looked at last.
  matchConstraints: Operations and resources for which it counts. Needed.
  paramKind: Kind of the objects that hold its parameters. Unset: it has none.
  variables: Expressions with names, for use as variables.name. Each may use those before it.
`;

export const admissionregistration: string = `
ValidatingWebhookConfiguration: Webhooks that are asked whether a request is allowed. All that fit are asked at the same time, after mutating ones.
  webhooks: The webhooks.

MutatingWebhookConfiguration: Webhooks that may change an object before it is stored. They are asked one after the other, by the names of configurations.
  webhooks: The webhooks.

ValidatingWebhook: A webhook that may refuse requests.
${hook}
MutatingWebhook: A webhook that may change objects, or refuse requests.
${hook}  reinvocationPolicy: Whether it is asked a second time when one after it has changed the object: Never (the default) or IfNeeded.

WebhookClientConfig: How a webhook is reached: exactly one of service and url.
  caBundle: Certificates of authorities that its certificate is checked against, as PEM written as base64. Unset: those of the system.
  service: A Service of the cluster.
  url: Where it is, as https://host:port/path. Without user, fragment and query.

ServiceReference: A Service with a webhook.
  name: Its name.
  namespace: Its namespace.
  path: The path to ask for. Unset: none.
  port: Its port, 1 to 65535. Default 443.

RuleWithOperations: Operations and resources. All fields must fit.
  apiGroups: Groups. * means all, and then stands alone.
  apiVersions: Versions. * means all, and then stands alone.
  operations: CREATE, UPDATE, DELETE, CONNECT, or * for all.
  resources: Resources: pods, pods/log, */scale for a subresource of all, pods/* for all subresources, * for all but subresources, */* for everything.
  scope: Cluster for objects of no namespace, Namespaced for others, * for both (the default).

NamedRuleWithOperations: Operations and resources, perhaps of certain names. All fields must fit.
  apiGroups: Groups. * means all, and then stands alone.
  apiVersions: Versions. * means all, and then stands alone.
  operations: CREATE, UPDATE, DELETE, CONNECT, or * for all.
  resourceNames: Names of the objects. Empty: all.
  resources: Resources: pods, pods/log, */scale for a subresource of all, pods/* for all subresources, * for all but subresources, */* for everything.
  scope: Cluster for objects of no namespace, Namespaced for others, * for both (the default).

MatchCondition: A condition in CEL for a webhook or policy.
  expression: Gives true or false. It sees object, oldObject, request, authorizer, and in policies params.
  name: Its name, unique in the list.

MatchResources: Operations and objects. All fields must fit.
  excludeResourceRules: What does not count, even if resourceRules have it.
  matchPolicy: Equivalent takes the same object in another version as well (the default), Exact does not.
  namespaceSelector: Namespaces of the objects, by their labels; a Namespace counts by its own. Objects of no namespace always fit. Default empty: all.
  objectSelector: The object by its labels, old or new. Default empty: all.
  resourceRules: What counts. One that fits is enough. Admission policies and their bindings never count.

ValidatingAdmissionPolicy: Rules in CEL that requests must keep. It does nothing until a ValidatingAdmissionPolicyBinding names it.
  spec: What is demanded, and when.
  status: Warnings of its expressions. Kept by the cluster: other writes leave it as it is.

ValidatingAdmissionPolicySpec: Rules, and for what they count. At least one of validations and auditAnnotations.
  auditAnnotations: What is noted in the audit log, at most 20.
${condition}  validations: The rules, which must all be kept.

Validation: A rule of a policy.
  expression: In CEL: true when the rule is kept. It sees object (null on DELETE), oldObject (null on CREATE), request, params, namespaceObject, variables and authorizer.
  message: What is said when it is not kept, in one line. Unset: the expression. Needed when that has several lines.
  messageExpression: A message in CEL. It comes before message, unless it fails or is empty.
  reason: Reason of the refusal, and with it the status code: Unauthorized, Forbidden, Invalid (the default) or RequestEntityTooLarge.

Variable: An expression with a name.
  expression: In CEL, of any type.
  name: A name of CEL, unique in the policy.

AuditAnnotation: What is noted in the audit log.
  key: Its key, which follows the policy's name and a slash. Unique in the policy.
  valueExpression: In CEL: the text to note, or null for none. It is cut at 10 KiB.

ParamKind: Kind of objects that hold parameters.
  apiVersion: Its group and version.
  kind: Its kind.

ValidatingAdmissionPolicyStatus: What the server thinks of a policy.
  conditions: Sides of its state, by type. The cluster itself sets none.
  observedGeneration: The metadata.generation that this status is about.
  typeChecking: What was found in the types of its expressions.

TypeChecking: What was found in the types of expressions.
  expressionWarnings: Each thing that seems wrong.

ExpressionWarning: Something that seems wrong in an expression.
  fieldRef: The field with the expression, as a path.
  warning: What seems wrong, for people.

ValidatingAdmissionPolicyBinding: Puts a policy in force, for certain objects and with certain parameters.
  spec: Which policy, and where.

ValidatingAdmissionPolicyBindingSpec: Where a policy is in force.
  matchResources: Narrows what the policy counts for. Unset: all of it.
  paramRef: The objects with its parameters. Needed if the policy has a paramKind; not allowed otherwise.
  policyName: Name of the policy. Without it the binding does nothing.
  validationActions: What happens when a rule is not kept: Deny refuses the request, Warn warns the client, Audit notes it. Not Deny and Warn together.

ParamRef: Objects with parameters: exactly one of name and selector. With several objects the policy counts for each.
  name: Name of the object.
  namespace: Its namespace. Unset: that of the request, when the kind is in namespaces.
  parameterNotFoundAction: What happens when there is none: Allow lets the request pass, Deny does as failurePolicy says. Needed.
  selector: All objects that have these labels. Empty: all objects.

MutatingAdmissionPolicy: Changes in CEL to objects before they are stored. It does nothing until a MutatingAdmissionPolicyBinding names it.
  spec: What is changed, and when.

MutatingAdmissionPolicySpec: Changes, and for what they count.
${condition}  mutations: The changes, one after the other. At least one.
  reinvocationPolicy: Whether it is applied a second time when something after it has changed the object: Never or IfNeeded. Needed.

Mutation: A change of a policy: the field of its type is set.
  applyConfiguration: An object whose fields are set as server-side apply does.
  jsonPatch: Steps that are done one after the other.
  patchType: ApplyConfiguration or JSONPatch.

ApplyConfiguration: An expression that gives an object with the fields to set.
  expression: In CEL: the fields, as Object{spec: Object.spec{replicas: 1}}. Atomic lists and maps are refused.

JSONPatch: An expression that gives the steps of a JSON patch.
  expression: In CEL: a list of steps, as [JSONPatch{op: "add", path: "/spec/replicas", value: 1}].

MutatingAdmissionPolicyBinding: Puts a policy in force, for certain objects and with certain parameters.
  spec: Which policy, and where.

MutatingAdmissionPolicyBindingSpec: Where a policy is in force.
  matchResources: Narrows what the policy counts for. Unset: all of it.
  paramRef: The objects with its parameters. Needed if the policy has a paramKind; not allowed otherwise.
  policyName: Name of the policy. Without it the binding does nothing.
`;
