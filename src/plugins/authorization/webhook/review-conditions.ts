// Conditions in CEL over the SubjectAccessReview that a webhook would be sent: it is asked when all hold.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { boolType, dynType, mapOf, stringType } from '../../../cel/cel-type.ts';
import { compileExpression } from '../../../cel/compile.ts';
import { jsonValue } from '../../../cel/json-values.ts';
import { kubernetesEnvironment } from '../../../cel/libraries/kubernetes.ts';
import type { Program } from '../../../cel/program.ts';
import { Issues } from '../../../cel/source.ts';
import { CelError } from '../../../cel/value.ts';

const environment = kubernetesEnvironment.extend({ variables: { request: mapOf(stringType, dynType) } });
const cost = 1_000_000;

/** Throws what is wrong with the expression. */
export function compileCondition(expression: string): Program {
  const checked = compileExpression(expression, environment);
  if (checked instanceof Issues) throw new Error(`compilation failed: ${checked}`);
  if (checked.type !== boolType) throw new Error('must evaluate to bool');
  return checked.program();
}

/** Whether all hold. As upstream: one that does not hold counts more than one that fails. Throws the failures. */
export function allHold(conditions: readonly Program[], spec: JsonObject): boolean {
  const request = jsonValue(spec);
  const failures: string[] = [];
  for (const condition of conditions) {
    const { value } = condition.run({ request }, { cost });
    if (value === false) return false;
    if (value instanceof CelError) failures.push(value.message);
  }
  if (failures.length > 0) throw new Error(failures.join(', '));
  return true;
}
