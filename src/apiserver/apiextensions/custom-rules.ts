// The rules that a definition's schema gives its objects. Loaded with the first object that has to keep some: the language
// they are written in takes a tenth of a second to load.
import type { WrittenRules } from '../../apimachinery/declaration.ts';
import { type FieldErrorType, invalid } from '../../apimachinery/field-error.ts';
import { Correlated } from '../../apimachinery/structural/correlated.ts';
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import { ruleTree } from '../../cel/rules/rule-tree.ts';
import { RuleRun } from '../../cel/rules/run-rules.ts';

/** Of such an object rules may say nothing that helps: what they are about has another form than they were told. */
const blocking: readonly FieldErrorType[] = [
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
];
const notAsked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

export function customRules(schema: StructuralSchema): WrittenRules {
  const tree = ruleTree(schema, true);
  return function* (object, old, context, found) {
    if (tree === undefined) return [];
    if (found.some(({ type }) => blocking.includes(type))) return [invalid('<nil>', null, notAsked)];
    const run = new RuleRun();
    const change = old && new Correlated(object, old, schema);
    yield* run.ask(tree, { path: '', value: object, old, change });
    for (const text of run.warnings) context.warn?.(text);
    return run.errors;
  };
}
