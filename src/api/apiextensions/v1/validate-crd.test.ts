// What of a CustomResourceDefinition is refused, in upstream's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { fieldErrorText } from '../../../apimachinery/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import type { CustomResourceDefinition } from '../../generated/types/apiextensions-v1.ts';
import { formatWarnings } from './format-warnings.ts';
import { validateCustomResourceDefinition, validateCustomResourceDefinitionUpdate } from './validate-crd.ts';

type Crd = Decoded<CustomResourceDefinition>;
type Version = NonNullable<NonNullable<Crd['spec']>['versions']>[number];

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const version = (schema: JsonObject, more: Partial<Version> = {}): Version => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema as never },
  ...more,
});
function definition(versions: Version[], spec: object = {}): Crd {
  return {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conversion: { strategy: 'None' },
      versions,
      ...spec,
    },
    status: { storedVersions: ['v1'] } as never,
  };
}
const errorsOf = (crd: Crd): string[] => validateCustomResourceDefinition(crd).map(fieldErrorText);
const root = 'spec.validation.openAPIV3Schema';
const spec = `${root}.properties[spec]`;

/** A field `spec` of this schema, and what is said of it. */
const schemas: readonly (readonly [what: string, schema: JsonObject, errors: readonly string[]])[] = [
  ['a typed field', { type: 'string' }, []],
  [
    'no type',
    { description: 'anything' },
    [`${spec}.type: Required value: must not be empty for specified object fields`],
  ],
  [
    'a list of no known type',
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'bag' },
    [`${spec}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"`],
  ],
  ['anything kept', { 'x-kubernetes-preserve-unknown-fields': true }, []],
  ['a list without items', { type: 'array' }, [`${spec}.items: Required value: must be specified`]],
  [
    'items without type',
    { type: 'array', items: {} },
    [`${spec}.items.type: Required value: must not be empty for specified array items`],
  ],
  [
    'an unknown type',
    { type: 'text' },
    [
      `${spec}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
  ],
  [
    'a type in a junctor',
    object({ a: { type: 'string' } }, { not: { type: 'object' } }),
    [`${spec}.not.type: Forbidden: must be empty to be structural`],
  ],
  [
    'int-or-string with its choice',
    { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    [],
  ],
  [
    'properties beside additionalProperties',
    object({ a: { type: 'string' } }, { additionalProperties: { type: 'string' } }),
    [`${spec}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
  ],
  [
    'a default of another type',
    { type: 'integer', default: 'many' },
    [`${spec}.default: Invalid value: "string":  in body must be of type integer: "string"`],
  ],
  [
    'a default with unknown fields',
    object({ a: { type: 'string' } }, { default: { b: 1 } }),
    [`${spec}.default: Invalid value: {"b":1}: must not have unknown fields`],
  ],
  [
    'a pattern that is none',
    { type: 'string', pattern: '[' },
    [
      `${spec}.pattern: Invalid value: "[": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: \`[\``,
    ],
  ],
  [
    'a list of a map without keys',
    { type: 'array', items: object({ a: { type: 'string' } }), 'x-kubernetes-list-type': 'map' },
    [
      `${spec}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
    ],
  ],
  [
    'a key that may be missing',
    {
      type: 'array',
      items: object({ a: { type: 'string' } }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
    },
    [
      `${spec}.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
  ],
  [
    'a set of granular objects',
    { type: 'array', items: object({ a: { type: 'string' } }), 'x-kubernetes-list-type': 'set' },
    [
      `${spec}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
  ],
  [
    'keys without a map',
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-map-keys': ['a'] },
    [
      `${spec}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty`,
    ],
  ],
  [
    'a reference',
    { type: 'string', $ref: '#/definitions/x' },
    [`${spec}.$ref: Forbidden: $ref is not supported`],
  ],
  [
    'unique items',
    { type: 'array', uniqueItems: true, items: { type: 'string' } },
    [
      `${spec}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
  ],
  [
    'a resource without fields',
    { type: 'object', 'x-kubernetes-embedded-resource': true },
    [
      `${spec}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
    ],
  ],
  [
    'a rule without text, with a reason that is none',
    { type: 'string', 'x-kubernetes-validations': [{ rule: ' ', reason: 'Bad' }] },
    [
      `${spec}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
      `${spec}.x-kubernetes-validations[0].reason: Unsupported value: "Bad": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
  ],
];

for (const [what, schema, errors] of schemas)
  test(`schema: ${what}`, () =>
    assert.deepEqual(errorsOf(definition([version(object({ spec: schema }))])), errors));

/** Changes of a version, and what is said of it. */
const versions: readonly (readonly [what: string, change: Partial<Version>, errors: readonly string[]])[] = [
  [
    'a column whose path does not begin with a dot',
    { additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: 'spec.a' }] },
    [
      'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.a": must be a simple json path starting with .',
    ],
  ],
  [
    'selectable fields that lead nowhere, to an object, and twice to the same',
    {
      selectableFields: [
        { jsonPath: '.spec.b' },
        { jsonPath: '.spec' },
        { jsonPath: '.spec.a' },
        { jsonPath: '.spec.a' },
        { jsonPath: ".spec['a']" },
      ],
    },
    [
      'spec.selectableFields[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
      'spec.selectableFields[1].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.selectableFields[3].jsonPath: Duplicate value: ".spec.a"',
      'spec.selectableFields[4].jsonPath: Invalid value: ".spec[\'a\']": is an invalid path: array notation is not allowed',
    ],
  ],
  [
    'replicas outside of the spec',
    { subresources: { scale: { specReplicasPath: '.status.n', statusReplicasPath: 'n' } } },
    [
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
      'spec.subresources.scale.statusReplicasPath: Invalid value: "n": must be a simple json path starting with .',
    ],
  ],
  [
    'a warning of what is not deprecated',
    { deprecationWarning: 'gone soon' },
    [
      'spec.versions[0].deprecationWarning: Invalid value: "gone soon": can only be set for deprecated versions',
    ],
  ],
  [
    'a name that is none',
    { name: 'V1' },
    [
      "spec.versions[0].name: Invalid value: \"V1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      "spec.version: Invalid value: \"V1\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ],
  ],
];
const plain = object({ spec: object({ a: { type: 'string' } }) });

for (const [what, change, errors] of versions)
  test(`version: ${what}`, () => {
    const crd = definition([version(plain, change)]);
    if (change.name) crd.status = { storedVersions: [change.name] } as never;
    assert.deepEqual(errorsOf(crd), errors);
  });

test('junctors of the root speak of known fields only', () => {
  const crd = definition([
    version(object({ spec: { type: 'string' } }, { anyOf: [{ properties: { b: { minimum: 1 } } }] })),
  ]);
  assert.deepEqual(errorsOf(crd), [
    `${root}.properties[b]: Required value: because it is defined in ${root}.anyOf[0].properties[b]`,
  ]);
});

test('what versions do not have in common is said of each', () => {
  const other = version(object({ spec: { type: 'string' } }), { name: 'v2', storage: false });
  assert.deepEqual(errorsOf(definition([version(object({ spec: {} })), other])), [
    'spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields',
  ]);
});

test('conversion by webhook needs to know which, and in which form', () => {
  const webhook = (conversion: object): string[] =>
    errorsOf(definition([version(plain)], { conversion: { strategy: 'Webhook', ...conversion } }));
  assert.deepEqual(webhook({}), [
    'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
    'spec.conversion.conversionReviewVersions: Required value',
  ]);
  const service = { name: 'a', namespace: 'b', port: 443 };
  assert.deepEqual(webhook({ webhook: { clientConfig: { service }, conversionReviewVersions: ['v7'] } }), [
    'spec.conversion.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1',
  ]);
  assert.deepEqual(webhook({ webhook: { clientConfig: { service }, conversionReviewVersions: ['v1'] } }), []);
});

test('groups of the community need to be approved', () => {
  const crd = definition([version(plain)], { group: 'x.k8s.io' });
  crd.metadata = { name: 'things.x.k8s.io' };
  assert.deepEqual(errorsOf(crd), [
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ]);
  for (const approved of ['https://github.com/kubernetes/enhancements/pull/1', 'unapproved, an experiment']) {
    crd.metadata = { name: 'things.x.k8s.io', annotations: { 'api-approved.kubernetes.io': approved } };
    assert.deepEqual(errorsOf(crd), []);
  }
});

test('a version in which objects are stored stays; what never changes stays', () => {
  const old = definition([version(plain)]);
  old.status = {
    storedVersions: ['v0', 'v1'],
    conditions: [{ type: 'Established', status: 'True' }],
  } as never;
  const next = structuredClone(old);
  next.spec!.scope = 'Cluster';
  next.spec!.names!.kind = 'Other';
  assert.deepEqual(validateCustomResourceDefinitionUpdate(next, old).map(fieldErrorText), [
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Other": field is immutable',
    'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions',
  ]);
});

test('what was stored under weaker rules may be written again', () => {
  const set = { type: 'array', items: object({ a: { type: 'string' } }), 'x-kubernetes-list-type': 'set' };
  const old = definition([version(object({ spec: set }))]);
  const next = structuredClone(old);
  next.spec!.names!.shortNames = ['th'];
  assert.equal(errorsOf(next).length, 1);
  assert.deepEqual(validateCustomResourceDefinitionUpdate(next, old), []);
});

test('a stored definition with a fault that no rule waives may change elsewhere, and is told of new ones alone', () => {
  const names = { plural: 'things', singular: 'no_name', kind: 'Thing', listKind: 'ThingList' };
  const old = definition([version(object({}))], { names });
  const next = structuredClone(old);
  next.spec!.names!.shortNames = ['th'];
  assert.deepEqual(validateCustomResourceDefinitionUpdate(next, old), []);
  next.spec!.scope = 'Elsewhere';
  assert.deepEqual(
    validateCustomResourceDefinitionUpdate(next, old).map(({ field }) => field),
    ['spec.scope'],
  );
});

test('formats that nobody knows are told once, and those of before not again', () => {
  const known = {
    at: { type: 'string', format: 'date-time' },
    name: { type: 'string', format: 'k8s-short-name' },
    any: { format: 'uuid4' },
    small: { type: 'integer', format: 'int32' },
    ratio: { type: 'number', format: 'double' },
  };
  const unknown = {
    odd: { type: 'string', format: 'int32' },
    list: { type: 'array', items: { type: 'integer', format: 'uint8' } },
    flag: { type: 'boolean', format: 'date' },
    map: { type: 'object', additionalProperties: { type: 'string', format: 'int32' } },
  };
  const before = definition([version(object({ ...known, odd: unknown.odd }))]);
  const now = definition([version(object({ ...known, ...unknown }))]);
  assert.deepEqual(formatWarnings(definition([version(object(known))]), undefined), []);
  assert.deepEqual(formatWarnings(now, undefined), [
    'unrecognized format "int32"',
    'unrecognized format "uint8"',
    'unrecognized format "date"',
  ]);
  assert.deepEqual(formatWarnings(now, before), [
    'unrecognized format "uint8"',
    'unrecognized format "date"',
  ]);
});

test('two versions to store in are told as the server holds them, without what they have in common', () => {
  const crd = definition([version(plain), version(plain, { name: 'v2' })]);
  crd.status = { storedVersions: ['v1', 'v2'] } as never;
  const shown = (name: string): string =>
    `{"Name":"${name}","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}`;
  assert.deepEqual(errorsOf(crd), [
    `spec.versions: Invalid value: [${shown('v1')},${shown('v2')}]: must have exactly one version marked as storage version`,
  ]);
});

test('defaults need pruning: a definition that keeps unknown fields gets none', () => {
  const old = definition([version(plain)], { preserveUnknownFields: true });
  const next = structuredClone(old);
  next.spec!.versions![0] = version(object({ spec: { type: 'string', default: 'a' } }));
  assert.deepEqual(validateCustomResourceDefinitionUpdate(next, old).map(fieldErrorText), [
    'spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema',
  ]);
});

test('too many selectable fields stay as they are, or are too many', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  const schema = object(Object.fromEntries(names.map((name) => [name, { type: 'string' }])));
  const selecting = (some: readonly string[], shortNames: string[]): Crd => {
    const selectableFields = some.map((name) => ({ jsonPath: `.${name}` }));
    const crd = definition([version(schema, { selectableFields })]);
    crd.spec!.names!.shortNames = shortNames;
    return crd;
  };
  const old = selecting(names.slice(0, 9), []);
  const errors = (crd: Crd): string[] => validateCustomResourceDefinitionUpdate(crd, old).map(fieldErrorText);
  assert.deepEqual(errors(selecting(names.slice(0, 9), ['x'])), []);
  assert.deepEqual(errors(selecting(names.slice(1), [])), [
    'spec.selectableFields: Too many: 9: must have at most 8 items',
  ]);
});

test('of a schema that cannot be made structural, only why not is told', () => {
  const kept = { 'x-kubernetes-preserve-unknown-fields': false } as JsonObject;
  assert.deepEqual(errorsOf(definition([version(kept)])), [
    `${root}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined`,
  ]);
  assert.deepEqual(errorsOf(definition([version({ type: 'object', $schema: 'draft' })])), [
    `${root}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`,
  ]);
});

const resource = (more: JsonObject, properties: JsonObject = {}): JsonObject =>
  object(
    { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' }, ...properties },
    { 'x-kubernetes-embedded-resource': true, ...more },
  );

/** A resource within, and what is said below it. */
const resources: readonly (readonly [what: string, schema: JsonObject, errors: readonly string[]])[] = [
  [
    'a default that is a resource',
    resource({ default: { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 'b' } } } }),
    [],
  ],
  [
    'a default that does not say what it is',
    resource({ default: {} }),
    ['.default.apiVersion: Required value', '.default.kind: Required value'],
  ],
  [
    'a default with metadata that is none',
    resource({ default: { apiVersion: 'v1', kind: 'Pod', metadata: { labels: { a: 1 } } } }),
    [
      '.default.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    ],
  ],
  [
    'metadata that is no object',
    resource({ default: { apiVersion: 'v1', kind: 'Pod', metadata: 7 } }),
    [
      '.default.metadata: Invalid value: 7: json: cannot unmarshal number into Go value of type v1.ObjectMeta',
    ],
  ],
  [
    'a default of the metadata with a name that is none',
    resource({}, { metadata: object({ name: { type: 'string', default: 'a/b' } }) }),
    [
      '.properties[metadata].properties[name].default: Invalid value: "a/b": must result in valid metadata: metadata.name: Invalid value: "a/b": may not contain \'/\'',
    ],
  ],
  [
    'a default of the metadata that has several faults',
    resource({}, { metadata: { type: 'object', default: { name: '.', labels: { 'a b': '' } } } }),
    [
      ".properties[metadata].default: Invalid value: {\"name\":\".\",\"labels\":{\"a b\":\"\"}}: must result in valid metadata: [metadata.name: Invalid value: \".\": may not be '.', metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]",
    ],
  ],
  [
    'a default of the kind that is none',
    resource({}, { kind: { type: 'string', default: 7 } }),
    [
      '.properties[kind].default: Invalid value: 7: must result in valid metadata: kind: Invalid value: 7: must be a string',
    ],
  ],
];

for (const [what, schema, errors] of resources)
  test(`resource within: ${what}`, () => {
    assert.deepEqual(
      errorsOf(definition([version(object({ spec: schema }))])),
      errors.map((text) => `${spec}${text}`),
    );
  });
