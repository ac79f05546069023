// What the types of apiextensions are for: definitions of custom resources, and their schemas.
export const apiextensions: string = `
CustomResourceDefinition: Adds a kind to the API. Its name must be plural.group. Deleting it deletes all objects of the kind.
  spec: The kind: names, versions, schemas.
  status: Whether it is served. Kept by the cluster: other writes leave it as it is.

CustomResourceDefinitionSpec: A kind that is added.
  conversion: How objects are turned from one version into another. Default: only apiVersion changes.
  group: The group, a domain such as example.com. Cannot be changed.
  names: How the kind is called.
  preserveUnknownFields: Must be false. What is kept beyond the schema, the schema says with x-kubernetes-preserve-unknown-fields.
  scope: Namespaced or Cluster: whether its objects are in namespaces. Cannot be changed.
  versions: The versions, of which exactly one is stored. In discovery v2 comes before v1, v1 before v1beta1, and that before v1alpha1.

CustomResourceDefinitionNames: How a kind is called.
  categories: Names under which it is asked for with others, such as all.
  kind: The kind, in CamelCase and the singular.
  listKind: Kind of its lists. Default the kind with List after it.
  plural: Name in paths, in small letters. Cannot be changed.
  shortNames: Names for typing, in small letters.
  singular: Name in the singular, in small letters. Default the kind in small letters.

CustomResourceDefinitionVersion: A version of a kind.
  additionalPrinterColumns: Columns that kubectl get shows beside the name. Unset: the age.
  deprecated: True warns whoever asks for this version. Default false.
  deprecationWarning: What is said then, at most 256 characters. Only with deprecated. Unset: a sentence that names the version.
  name: Name of the version, such as v1.
  schema: What objects must be like. Needed.
  selectableFields: Fields that field selectors may name, at most 8.
  served: Whether it can be asked for.
  storage: Whether objects are stored in this version. True for exactly one.
  subresources: The subresources status and scale, where they are wanted.

CustomResourceColumnDefinition: A column that kubectl get shows.
  description: What is in it, for people.
  format: A form such as name or date. Default none.
  jsonPath: Where its value is in the object, such as .spec.replicas.
  name: Its heading.
  priority: 0 is always shown, greater ones only by -o wide. Default 0.
  type: integer, number, string, boolean or date.

CustomResourceValidation: What objects must be like.
  openAPIV3Schema: The schema. It must be structural: each field has a type.

CustomResourceSubresources: Subresources of a version.
  scale: A scale subresource, for kubectl scale and autoscalers.
  status: A status subresource: it alone writes status, and writes of the object leave status as it is. {} is enough.

CustomResourceSubresourceStatus: A status subresource. It has no settings.

CustomResourceSubresourceScale: Where the fields of the scale subresource are in the object.
  labelSelectorPath: The labels of the pods as text, under .spec or .status, such as .status.selector. Autoscalers need it.
  specReplicasPath: The number that is wanted, under .spec, such as .spec.replicas.
  statusReplicasPath: The number that there is, under .status, such as .status.replicas.

SelectableField: A field that field selectors may name.
  jsonPath: Where it is in the object, such as .spec.color: text, a number, or true and false, and in no list.

CustomResourceConversion: How objects are turned from one version into another.
  strategy: None changes only apiVersion (the default), Webhook asks a webhook.
  webhook: The webhook. Needed with strategy Webhook.

WebhookConversion: A webhook that turns objects from one version into another.
  clientConfig: How it is reached.
  conversionReviewVersions: Versions of ConversionReview that it reads, the preferred first. The server takes the first that it knows: v1.

WebhookClientConfig: How a webhook is reached: exactly one of service and url.
  caBundle: Certificates of authorities that its certificate is checked against, as PEM written as base64. Unset: those of the system.
  service: A Service of the cluster.
  url: Where it is, as https://host:port/path. Without user, fragment and query.

ServiceReference: A Service with a webhook.
  name: Its name.
  namespace: Its namespace.
  path: The path to ask for. Unset: none.
  port: Its port, 1 to 65535. Default 443.

CustomResourceDefinitionStatus: How a definition stands.
  acceptedNames: The names that it has got. Another definition may have been first.
  conditions: NamesAccepted, Established when it is served, Terminating while its objects are deleted, and others.
  observedGeneration: The metadata.generation that this status is about.
  storedVersions: Versions in which objects may be stored. One can be taken out of the spec only when it is no longer here.

CustomResourceDefinitionCondition: One side of a definition's state.
  lastTransitionTime: When status last changed.
  message: Details for people.
  observedGeneration: The metadata.generation that the condition is about.
  reason: Why, in one word of CamelCase.
  status: True, False or Unknown.
  type: Which side, such as Established or NonStructuralSchema.

JSONSchemaProps: A schema, as OpenAPI 3.0 has them, with what Kubernetes adds.
  $ref: Another schema. Not allowed in definitions of custom resources.
  $schema: The language of the schema.
  additionalItems: What items after those of items must be like. Not allowed in definitions of custom resources.
  additionalProperties: What all fields must be like that properties do not name. Excludes properties.
  allOf: Schemas that must all hold. They may add conditions, but no types or fields.
  anyOf: Schemas of which one must hold at least. They may add conditions, but no types or fields.
  default: The value of a field that is missing. It must fit the schema.
  definitions: Schemas with names. Not allowed in definitions of custom resources.
  dependencies: What must hold when a field is there. Not allowed in definitions of custom resources.
  description: What it is for, as kubectl explain shows it.
  enum: The values that are allowed.
  example: An example.
  exclusiveMaximum: True excludes maximum itself. Default false.
  exclusiveMinimum: True excludes minimum itself. Default false.
  externalDocs: Where to read more.
  format: A form of text or numbers, such as date-time, ipv4, uuid, int32 or byte. Those that are not known are left out of account.
  id: The schema's own address. Not allowed in definitions of custom resources.
  items: What the items of a list must be like.
  maxItems: The most items of a list.
  maxLength: The most characters of a text.
  maxProperties: The most fields of an object.
  maximum: The greatest number.
  minItems: The fewest items of a list.
  minLength: The fewest characters of a text.
  minProperties: The fewest fields of an object.
  minimum: The smallest number.
  multipleOf: The number must be a multiple of this one.
  not: A schema that must not hold.
  nullable: Whether null is allowed. Default false: a null is taken away where there is a default, else refused.
  oneOf: Schemas of which exactly one must hold. They may add conditions, but no types or fields.
  pattern: A regular expression that is found in the text.
  patternProperties: What fields must be like whose names fit a regular expression. Not allowed in definitions of custom resources.
  properties: What each field must be like. Fields that are not named here are not stored.
  required: Fields that must be there.
  title: A heading.
  type: object, array, string, integer, number or boolean.
  uniqueItems: Whether items must differ. True is not allowed: see x-kubernetes-list-type.
  x-kubernetes-embedded-resource: True for a whole object with apiVersion, kind and metadata, which are checked. Needs type object.
  x-kubernetes-int-or-string: True for a whole number or text. It stands in place of type.
  x-kubernetes-list-map-keys: Fields that tell the items of a list of type map apart. They must be required or have defaults.
  x-kubernetes-list-type: How lists are merged: atomic as one value (the default), set item by item of plain values that differ, map item by item by list-map-keys.
  x-kubernetes-map-type: How objects are merged: granular field by field (the default), atomic as one value.
  x-kubernetes-preserve-unknown-fields: True stores fields that are not named here as well. false is not allowed.
  x-kubernetes-validations: Rules in CEL.

ValidationRule: A rule in CEL, for the value in whose schema it stands.
  fieldPath: The field that is named when the rule is not kept, such as .spec.size. Unset: where the rule stands.
  message: What is said when it is not kept. Unset: the rule. Needed when that has several lines.
  messageExpression: A message in CEL. It comes before message, unless it fails or is empty.
  optionalOldSelf: True looks at a rule with oldSelf on creation as well, with oldSelf an optional. Only when the rule uses oldSelf.
  reason: Reason that is given: FieldValueInvalid (the default), FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.
  rule: True when it is kept. self is the value; oldSelf the one before, and with it the rule counts for updates only.

ExternalDocumentation: Where to read more.
  description: What is found there.
  url: Where it is.

JSON: Any value.
JSONSchemaPropsOrArray: A schema, or a list of them.
JSONSchemaPropsOrBool: A schema, or true for anything and false for nothing.
JSONSchemaPropsOrStringArray: A schema, or a list of names.
`;
