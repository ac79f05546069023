// The rules that a definition's schema gives its objects. Loaded with the first object that has to keep some: the language
// they are written in takes a tenth of a second to load.
import type { WrittenRules } from '../../apimachinery/declaration.ts';
import { type FieldErrorType, invalid } from '../../apimachinery/field-error.ts';
import { Correlated } from '../../apimachinery/structural/correlated.ts';
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import type { Steps } from '../../base/turns.ts';
import { ruleTree } from '../../cel/rules/rule-tree.ts';
import { RuleRun } from '../../cel/rules/run-rules.ts';
import type { RuleMetrics } from './rule-metrics.ts';

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

/** How what rules take is measured. */
export interface RuleWatch {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  readonly metrics: RuleMetrics;
}

/** Without the time in which others have their turn. */
function* watched(steps: Steps<void>, { now, metrics }: RuleWatch): Steps<void> {
  let ms = 0;
  for (let isDone = false; !isDone; ) {
    const from = now();
    isDone = steps.next().done === true;
    ms += now() - from;
    if (!isDone) yield;
  }
  metrics.evaluated(ms / 1000);
}

export function customRules(schema: StructuralSchema, watch: RuleWatch): WrittenRules {
  const tree = ruleTree(schema, true, (compile) => {
    const from = watch.now();
    const rule = compile();
    watch.metrics.compiled((watch.now() - from) / 1000);
    return rule;
  });
  return function* (object, old, context, found) {
    if (tree === undefined) return [];
    if (found.some(({ type }) => blocking.includes(type))) return [invalid('<nil>', null, notAsked)];
    const run = new RuleRun();
    const change = old && new Correlated(object, old, schema);
    yield* watched(run.ask(tree, { path: '', value: object, old, change }), watch);
    for (const text of run.warnings) context.warn?.(text);
    return run.errors;
  };
}
