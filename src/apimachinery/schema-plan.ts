// Compiles types of the schema to plans, each once.
import type { SchemaSource } from './declaration.ts';
import { type FieldSchema, isZeroScalar, type Json, type TypeSchema } from './json.ts';
import type { FieldPlan, PlanNode, PlanSource, SpecialType, StructPlan } from './plan.ts';

const specials: Readonly<Record<string, SpecialType>> = {
  Quantity: 'quantity',
  Time: 'time',
  MicroTime: 'microTime',
  Duration: 'duration',
  IntOrString: 'intOrString',
  FieldsV1: 'fieldsV1',
  RawExtension: 'rawExtension',
  Patch: 'json',
  JSON: 'json',
  JSONSchemaPropsOrArray: 'json',
  JSONSchemaPropsOrBool: 'json',
  JSONSchemaPropsOrStringArray: 'json',
};
const shortName = (full: string): string => full.slice(full.lastIndexOf('.') + 1);

/** Go's name of a type in error texts: `v1.PodSpec`, `[]v1.Container`, `map[string]string`. */
export function goTypeName(node: PlanNode): string {
  switch (node.kind) {
    case 'struct':
      return `${packageOf(node.type)}.${node.goName}`;
    case 'scalar':
      return node.scalar;
    case 'bytes':
      return '[]uint8';
    case 'special':
      return `${packageOf(node.type)}.${shortName(node.type)}`;
    case 'array':
      return `[]${goTypeName(node.items)}`;
    case 'map':
      return `map[string]${goTypeName(node.values)}`;
    default:
      return 'interface {}';
  }
}
const packageOf = (full: string): string => full.split('.').at(-2) ?? '';

/** Plans are made on first use and shared; recursive types refer to themselves. */
export function createPlans(source: SchemaSource): PlanSource {
  const known = new Map<string, PlanNode>();
  const nodeOf = (field: FieldSchema): PlanNode => {
    if (field.ref) return planOf(field.ref) ?? { kind: 'any' };
    switch (field.type) {
      case 'string':
        return field.format === 'byte'
          ? { kind: 'bytes' }
          : { kind: 'scalar', scalar: 'string', enum: field.enum };
      case 'integer':
        return { kind: 'scalar', scalar: field.format === 'int32' ? 'int32' : 'int64' };
      case 'number':
        return { kind: 'scalar', scalar: 'float64' };
      case 'boolean':
        return { kind: 'scalar', scalar: 'bool' };
      case 'array':
        return { kind: 'array', items: field.items ? nodeOf(field.items) : { kind: 'any' } };
      case 'object':
        return field.values ? { kind: 'map', values: nodeOf(field.values) } : { kind: 'any' };
      default:
        return { kind: 'any' };
    }
  };
  const planOf = (type: string): PlanNode | undefined => {
    const found = known.get(type);
    if (found) return found;
    const schema = source.type(type);
    if (!schema) return undefined;
    const special = specials[shortName(type)];
    if (special && !schema.fields) {
      const node: PlanNode = { kind: 'special', special, type };
      known.set(type, node);
      return node;
    }
    return compile(type, schema);
  };
  const compile = (type: string, schema: TypeSchema): StructPlan => {
    const fields = new Map<string, FieldPlan>();
    const defaults: [string, Json, PlanNode][] = [];
    const required = schema.required ?? [];
    const plan: StructPlan = { kind: 'struct', type, goName: shortName(type), fields, defaults, required };
    known.set(type, plan);
    for (const [name, field] of Object.entries(schema.fields ?? {})) {
      const node = nodeOf(field);
      const omitsZero = field.omitsZero === true;
      fields.set(name, { name, node, schema: field, required: required.includes(name), omitsZero });
      if (field.default !== undefined && !(omitsZero && isZeroScalar(field.default)))
        defaults.push([name, field.default, node]);
    }
    return plan;
  };
  return { plan: planOf };
}
