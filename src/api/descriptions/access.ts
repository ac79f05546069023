// What the types of identity and rights are for: authentication, authorization, rbac, certificates.
export const authentication: string = `
TokenReview: Asks whether a token is good, and whose it is. Created for its answer and not stored.
  spec: The token.
  status: The answer.

TokenReviewSpec: The token that is asked about.
  audiences: For whom the token should be. Unset: the API server.
  token: The token.

TokenReviewStatus: Whether the token is good, and whose it is.
  audiences: Those of the audiences asked for that the token is for.
  authenticated: Whether it is good.
  error: Why it could not be found out.
  user: Whose it is.

TokenRequest: Asks for a token of a service account, by its token subresource. Not stored.
  spec: What the token should be.
  status: The token.

TokenRequestSpec: What a token should be.
  audiences: For whom the token is; others must refuse it. Empty: the API server.
  boundObjectRef: An object with which the token ends: a Pod, Secret or Node. Unset: none but the service account itself.
  expirationSeconds: Seconds for which it should be good, at least 600. Default 3600. The server may give less.

TokenRequestStatus: The token.
  expirationTimestamp: When it ends.
  token: The token itself.

BoundObjectReference: An object with which a token ends.
  apiVersion: Its version, v1.
  kind: Pod, Secret or Node.
  name: Its name.
  uid: Its uid. Unset: that of the object of the name.

SelfSubjectReview: Asks who one is to the server (kubectl auth whoami). Not stored.
  status: The answer.

SelfSubjectReviewStatus: Who one is.
  userInfo: Name, groups and more.

UserInfo: A user as the server knows one.
  extra: More, by keys, from whatever found out who it is.
  groups: The groups.
  uid: A name that stays when the user's name is given to another.
  username: The name.
`;

export const authorization: string = `
SubjectAccessReview: Asks whether a user may do something. Not stored.
  spec: Who, and what.
  status: The answer.

LocalSubjectAccessReview: Asks whether a user may do something in one namespace. Not stored.
  spec: Who, and what. The namespace must be that of the request.
  status: The answer.

SelfSubjectAccessReview: Asks whether one may do something oneself (kubectl auth can-i). Not stored.
  spec: What.
  status: The answer.

SelfSubjectRulesReview: Asks for all that one may do in a namespace (kubectl auth can-i --list). For display, not for decisions. Not stored.
  spec: The namespace.
  status: The answer.

SubjectAccessReviewSpec: Who wants to do what. Exactly one of resourceAttributes and nonResourceAttributes, and at least user or groups.
  extra: More about the user, by keys.
  groups: The user's groups.
  nonResourceAttributes: A path that is no resource.
  resourceAttributes: A resource.
  uid: The user's uid.
  user: The user's name. Without groups it is in none.

SelfSubjectAccessReviewSpec: What one wants to do. Exactly one of the two.
  nonResourceAttributes: A path that is no resource.
  resourceAttributes: A resource.

SelfSubjectRulesReviewSpec: Where one wants to do something.
  namespace: The namespace. Needed.

ResourceAttributes: Something to do with a resource.
  fieldSelector: Only objects with these fields. For list, watch and deletecollection.
  group: Its group. * means all; empty the core group.
  labelSelector: Only objects with these labels. For list, watch and deletecollection.
  name: Name of the object. Empty: all of them.
  namespace: The namespace. Empty: all of them, or the resource is in none.
  resource: The resource, such as pods. * means all.
  subresource: The subresource, such as log. Empty: none.
  verb: What to do, such as get, list or create. * means everything.
  version: Its version. * means all.

FieldSelectorAttributes: A selector of fields, in one of two forms. Empty: all.
  rawSelector: As a request writes it.
  requirements: As requirements that must all hold.

LabelSelectorAttributes: A selector of labels, in one of two forms. Empty: all.
  rawSelector: As a request writes it.
  requirements: As requirements that must all hold.

NonResourceAttributes: Something to do with a path that is no resource.
  path: The path, such as /healthz.
  verb: The method of HTTP in small letters, such as get.

SubjectAccessReviewStatus: Whether it is allowed.
  allowed: Whether it is.
  denied: True when it is forbidden whatever others say. Not together with allowed.
  evaluationError: What could not be found out. The answer may be good all the same.
  reason: Why.

SubjectRulesReviewStatus: What one may do.
  evaluationError: What could not be found out.
  incomplete: Whether there may be more than is listed.
  nonResourceRules: What one may do with paths that are no resources.
  resourceRules: What one may do with resources.

ResourceRule: Something one may do with resources.
  apiGroups: The groups. * means all.
  resourceNames: Names of the objects. Empty: all.
  resources: The resources, with subresources as pods/log. * means all.
  verbs: What one may do. * means everything.

NonResourceRule: Something one may do with paths.
  nonResourceURLs: The paths. A * at the end stands for all that follows.
  verbs: The methods of HTTP in small letters. * means all.
`;

export const rbac: string = `
Role: A set of rights in one namespace. Rights only add up; none forbids.
  rules: The rights.

ClusterRole: A set of rights in the whole cluster, or, by a RoleBinding, in one namespace.
  aggregationRule: ClusterRoles whose rules are joined here. Rules that are written here are replaced then.
  rules: The rights.

AggregationRule: Which ClusterRoles are joined.
  clusterRoleSelectors: ClusterRoles by their labels. One selector that fits is enough.

PolicyRule: Rights: these verbs on these resources, or on these paths.
  apiGroups: Groups of the resources. Empty text is the core group, * all groups.
  nonResourceURLs: Paths that are no resources, with a * at most as the last step. Only in ClusterRoles that are bound for the whole cluster, and not with resources.
  resourceNames: Only objects of these names. Of no use for create and deletecollection. Empty: all.
  resources: The resources, with subresources as pods/log. * means all of them.
  verbs: What may be done: get, list, watch, create, update, patch, delete, deletecollection and others. * means everything.

RoleBinding: Gives a Role, or a ClusterRole, to users in one namespace.
  roleRef: The role. Cannot be changed: delete the binding and make another.
  subjects: Who gets the rights.

ClusterRoleBinding: Gives a ClusterRole to users in the whole cluster.
  roleRef: The ClusterRole. Cannot be changed: delete the binding and make another.
  subjects: Who gets the rights.

RoleRef: Names a role.
  apiGroup: Its group, rbac.authorization.k8s.io.
  kind: Role or ClusterRole.
  name: Its name.

Subject: Somebody who gets rights.
  apiGroup: The group: empty for a ServiceAccount, rbac.authorization.k8s.io for a User or a Group, which are the defaults.
  kind: User, Group or ServiceAccount.
  name: The name.
  namespace: The namespace of a ServiceAccount. Not for the others.
`;

export const certificates: string = `
CertificateSigningRequest: Asks for a certificate. Somebody approves it, and the signer that it names issues it. It is deleted some time after.
  spec: What is asked for. Cannot be changed.
  status: Whether it is approved, and the certificate.

CertificateSigningRequestSpec: What certificate is asked for, and by whom.
  expirationSeconds: Seconds for which it should be good, at least 600. The signer may give less. Unset: the signer decides.
  extra: More about who asked. Set by the server.
  groups: Groups of who asked. Set by the server.
  request: The request in the form of PKCS 10, as PEM written as base64.
  signerName: Who is to sign it, such as kubernetes.io/kube-apiserver-client.
  uid: Uid of who asked. Set by the server.
  usages: What the key may be used for. Each signer knows what it signs.
  username: Who asked. Set by the server.

CertificateSigningRequestStatus: What has become of the request.
  certificate: The certificate and those above it, as PEM written as base64. Set by the signer; cannot be changed then.
  conditions: Approved, Denied or Failed.

CertificateSigningRequestCondition: What somebody has said of the request.
  lastTransitionTime: When status last changed.
  lastUpdateTime: When anything of it last changed.
  message: Details for people.
  reason: Why, in one word.
  status: True. Approved, Denied and Failed know no other.
  type: Approved, Denied or Failed. Approved and Denied exclude each other and cannot be taken back.
`;
