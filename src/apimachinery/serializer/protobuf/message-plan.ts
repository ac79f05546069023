// A struct's protobuf layout: which field has which number, and which travel in embedded messages.
import type { FieldPlan, PlanNode, PlanSource, StructPlan } from '../../plan.ts';
import type { EmbeddedMessage } from './embedded.ts';
import { embeddedMessages } from './embedded.ts';

export interface MessageField {
  readonly name: string;
  readonly number: number;
  readonly node: PlanNode;
  readonly omitsZero: boolean;
}
export interface MessagePlan {
  readonly fields: readonly MessageField[];
  readonly byNumber: ReadonlyMap<number, MessageField>;
  readonly embedded: ReadonlyMap<number, MessagePlan>;
}

const plans = new WeakMap<StructPlan, MessagePlan>();

export function messagePlan(struct: StructPlan): MessagePlan {
  const found = plans.get(struct);
  if (found) return found;
  const made = build(struct);
  plans.set(struct, made);
  return made;
}

function build(struct: StructPlan): MessagePlan {
  const extra = embeddedMessages[struct.type.split('.').slice(-3).join('.')];
  const placed = new Set(Object.keys(extra?.fields ?? {}));
  for (const key of Object.keys(extra?.nested?.fields ?? {})) placed.add(key);
  const fields: MessageField[] = [];
  for (const field of struct.fields.values()) {
    if (placed.has(field.name)) continue;
    const number = field.schema.proto?.[0];
    if (number !== undefined)
      fields.push({ name: field.name, number, node: field.node, omitsZero: field.omitsZero });
  }
  if (!extra) return planOf(fields);
  const inner = embeddedPlan(struct, extra);
  if (extra.number === 0) return planOf([...fields, ...inner.fields]);
  return planOf(fields, new Map([[extra.number, inner]]));
}

function embeddedPlan(struct: StructPlan, message: EmbeddedMessage): MessagePlan {
  const fields = Object.entries(message.fields).flatMap(([name, number]): MessageField[] => {
    const field: FieldPlan | undefined = struct.fields.get(name);
    return field ? [{ name, number, node: field.node, omitsZero: field.omitsZero }] : [];
  });
  const nested = message.nested;
  return planOf(fields, nested ? new Map([[nested.number, embeddedPlan(struct, nested)]]) : new Map());
}

function planOf(fields: MessageField[], embedded: ReadonlyMap<number, MessagePlan> = new Map()): MessagePlan {
  fields.sort((a, b) => a.number - b.number);
  return { fields, byNumber: new Map(fields.map((f) => [f.number, f])), embedded };
}

/** The struct of a full type name; undefined when it has no protobuf form. */
export function structOf(source: PlanSource, type: string): StructPlan | undefined {
  const plan = source.plan(type);
  return plan?.kind === 'struct' ? plan : undefined;
}
