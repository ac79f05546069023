// Metrics of an autoscaler as v1 writes them into annotations: flat, where v2 has parts of parts.
import type { FieldSchema, Json, JsonObject } from '../../../apimachinery/declaration.ts';
import type { TypeSchema } from '../../../apimachinery/json.ts';
import { isObject, obj, objs, str } from '../../../apimachinery/json-access.ts';

interface Value {
  readonly schema: FieldSchema;
  /** What is written where it is missing: Go's value is no pointer. */
  readonly zero?: Json;
}
/** A field of v1, and where v2 has it. */
type Field = readonly [name: string, place: readonly string[], value: Value];
type Sources = Readonly<Record<string, readonly Field[]>>;

const quantity: FieldSchema = { ref: 'io.k8s.apimachinery.pkg.api.resource.Quantity' };
const text: Value = { schema: { type: 'string' }, zero: '' };
const amount: Value = { schema: quantity, zero: '0' };
const amountIfAny: Value = { schema: quantity };
const percentIfAny: Value = { schema: { type: 'integer', format: 'int32' } };
const selectorIfAny: Value = { schema: { ref: 'io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector' } };
const reference: Value = {
  schema: { ref: 'io.k8s.api.autoscaling.v1.CrossVersionObjectReference' },
  zero: { kind: '', name: '' },
};

const name: Field = ['name', ['name'], text];
const container: Field = ['container', ['container'], text];
const described: Field = ['target', ['describedObject'], reference];
const metricName: Field = ['metricName', ['metric', 'name'], text];
const selector: Field = ['selector', ['metric', 'selector'], selectorIfAny];
const metricSelector: Field = ['metricSelector', ['metric', 'selector'], selectorIfAny];

const wantedUsage: readonly Field[] = [
  ['targetAverageUtilization', ['target', 'averageUtilization'], percentIfAny],
  ['targetAverageValue', ['target', 'averageValue'], amountIfAny],
];
const currentUsage: readonly Field[] = [
  ['currentAverageUtilization', ['current', 'averageUtilization'], percentIfAny],
  ['currentAverageValue', ['current', 'averageValue'], amount],
];

/** In the order of upstream's structs, which is that of the text. */
const wanted: Sources = {
  object: [
    described,
    metricName,
    ['targetValue', ['target', 'value'], amount],
    selector,
    ['averageValue', ['target', 'averageValue'], amountIfAny],
  ],
  pods: [metricName, ['targetAverageValue', ['target', 'averageValue'], amount], selector],
  resource: [name, ...wantedUsage],
  containerResource: [name, ...wantedUsage, container],
  external: [
    metricName,
    metricSelector,
    ['targetValue', ['target', 'value'], amountIfAny],
    ['targetAverageValue', ['target', 'averageValue'], amountIfAny],
  ],
};
const measured: Sources = {
  object: [
    described,
    metricName,
    ['currentValue', ['current', 'value'], amount],
    selector,
    ['averageValue', ['current', 'averageValue'], amountIfAny],
  ],
  pods: [metricName, ['currentAverageValue', ['current', 'averageValue'], amount], selector],
  resource: [name, ...currentUsage],
  containerResource: [name, ...currentUsage, container],
  external: [
    metricName,
    metricSelector,
    ['currentValue', ['current', 'value'], amount],
    ['currentAverageValue', ['current', 'averageValue'], amountIfAny],
  ],
};

/** Types that no published document has, for they are nowhere but in annotations. */
const typesOf = (kind: string, sources: Sources): [string, TypeSchema][] => [
  [
    kind,
    {
      type: 'object',
      fields: {
        type: text.schema,
        ...Object.fromEntries(Object.keys(sources).map((source) => [source, { ref: `${kind}.${source}` }])),
      },
    },
  ],
  ...Object.entries(sources).map(([source, fields]): [string, TypeSchema] => [
    `${kind}.${source}`,
    { type: 'object', fields: Object.fromEntries(fields.map(([field, , { schema }]) => [field, schema])) },
  ]),
];
export const annotatedTypes: ReadonlyMap<string, TypeSchema> = new Map([
  ...typesOf('MetricSpec', wanted),
  ...typesOf('MetricStatus', measured),
]);

function at(part: JsonObject, place: readonly string[]): Json | undefined {
  let value: Json | undefined = part;
  for (const key of place) value = obj(value)[key];
  return value ?? undefined;
}

const referenceToV1 = (value: Json): Json =>
  isObject(value)
    ? {
        kind: str(value['kind']),
        name: str(value['name']),
        ...(str(value['apiVersion']) === '' ? {} : { apiVersion: str(value['apiVersion']) }),
      }
    : value;

function toV1(metric: JsonObject, sources: Sources): JsonObject {
  const made: JsonObject = { type: str(metric['type']) };
  for (const [source, fields] of Object.entries(sources)) {
    const part = metric[source];
    if (!isObject(part)) continue;
    const flat: JsonObject = {};
    for (const [field, place, value] of fields) {
      const found = at(part, place) ?? value.zero;
      if (found !== undefined) flat[field] = value === reference ? referenceToV1(found) : found;
    }
    made[source] = flat;
  }
  return made;
}

function toV2(metric: JsonObject, sources: Sources): JsonObject {
  const made: JsonObject = { type: str(metric['type']) };
  for (const [source, fields] of Object.entries(sources)) {
    const flat = metric[source];
    if (!isObject(flat)) continue;
    const part: JsonObject = {};
    for (const [field, [key = '', inner], value] of fields) {
      const found = flat[field] ?? value.zero;
      if (inner === undefined) {
        if (found !== undefined) part[key] = found;
        continue;
      }
      const whole = obj(part[key]);
      part[key] = found === undefined ? whole : { ...whole, [inner]: found };
    }
    made[source] = part;
  }
  return made;
}

/** v1 has no name for how a target is meant: it is read off what is given. */
function targetType(source: string, { value, averageValue, averageUtilization }: JsonObject): string {
  if (averageUtilization !== undefined) return 'Utilization';
  if (source === 'object') return averageValue === undefined ? 'Value' : 'AverageValue';
  return value === undefined ? 'AverageValue' : 'Value';
}

export const wantedToV1 = (metrics: Json | undefined): JsonObject[] =>
  objs(metrics).map((metric) => toV1(metric, wanted));
export const measuredToV1 = (metrics: Json | undefined): JsonObject[] =>
  objs(metrics).map((metric) => toV1(metric, measured));
export const measuredToV2 = (metrics: Json | undefined): JsonObject[] =>
  objs(metrics).map((metric) => toV2(metric, measured));

export const wantedToV2 = (metrics: Json | undefined): JsonObject[] =>
  objs(metrics).map((metric) => {
    const made = toV2(metric, wanted);
    for (const source of Object.keys(wanted)) {
      const part = made[source];
      if (!isObject(part)) continue;
      const target = obj(part['target']);
      part['target'] = { type: targetType(source, target), ...target };
    }
    return made;
  });
