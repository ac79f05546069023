// Defaults have to keep the rules that stand where they do, and those within: as a value that is new, and as one that was.
import type { FieldError } from '../../apimachinery/field-error.ts';
import {
  isEmbedded,
  itemsOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
} from '../../apimachinery/structural/structural-schema.ts';
import type { Steps } from '../../base/turns.ts';
import { ruleTree } from './rule-tree.ts';
import { costOfAll, RuleRun } from './run-rules.ts';

/** Of one schema of a definition, at `path`. Below zero the budget is gone, and nothing more is asked. */
export function* defaultRuleErrors(schema: StructuralSchema, path: string): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  yield* visit(schema, path, true, { left: costOfAll, errors });
  return errors;
}

interface Run {
  left: number;
  readonly errors: FieldError[];
}

function* visit(schema: StructuralSchema, path: string, isRoot: boolean, run: Run): Steps<void> {
  if (schema['default'] !== undefined) yield* check(schema, path, isRoot || isEmbedded(schema), run);
  if (run.left < 0) return;
  const items = itemsOf(schema);
  if (items) yield* visit(items, `${path}.items`, false, run);
  for (const name of Object.keys(propertiesOf(schema))) {
    const property = propertyOf(schema, name);
    if (property) yield* visit(property, `${path}.properties[${name}]`, false, run);
  }
}

function* check(schema: StructuralSchema, path: string, isRoot: boolean, run: Run): Steps<void> {
  const tree = ruleTree(schema, isRoot);
  if (tree === undefined) return;
  const value = schema['default'];
  const subject = { path: `${path}.default`, value };
  const unchanged = new RuleRun(run.left);
  yield* unchanged.ask(tree, { ...subject, old: value });
  run.errors.push(...unchanged.errors);
  let { left } = unchanged;
  if (unchanged.errors.length === 0) {
    const added = new RuleRun(run.left);
    yield* added.ask(tree, { ...subject, old: undefined });
    run.errors.push(...added.errors);
    left = Math.min(left, added.left);
  }
  run.left = left;
}
