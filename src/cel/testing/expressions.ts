// Tables of expressions for tests: what they give in the environment of Kubernetes, what they cost, what is said of them.
import assert from 'node:assert/strict';
import { CheckedExpression, compileExpression } from '../compile.ts';
import type { Environment } from '../environment.ts';
import { kubernetesEnvironment } from '../libraries/kubernetes.ts';
import type { Activation, Outcome } from '../program.ts';
import { formatValue } from '../value-text.ts';

export function checkedExpression(
  text: string,
  environment: Environment = kubernetesEnvironment,
): CheckedExpression {
  const found = compileExpression(text, environment);
  assert.ok(found instanceof CheckedExpression, `${text}: ${found}`);
  return found;
}

export const evaluated = (text: string, variables: Activation = {}, environment?: Environment): Outcome =>
  checkedExpression(text, environment).program().run(variables);

/** Values as messages show them; errors by their message. */
export function assertValues(
  table: readonly (readonly [text: string, value: string])[],
  variables: Activation = {},
  environment?: Environment,
): void {
  for (const [text, value] of table)
    assert.equal(formatValue(evaluated(text, variables, environment).value), value, text);
}

/** What a run costs, and the most that it is estimated to cost. */
export function assertCosts(table: readonly (readonly [text: string, cost: number, most: number])[]): void {
  for (const [text, cost, most] of table)
    assert.deepEqual([evaluated(text).cost, checkedExpression(text).estimate().max], [cost, most], text);
}
