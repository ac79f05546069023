// Expressions over claims and users in CEL, as upstream's authentication has them.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { boolType, dynType, listOf, mapOf, stringType, structType } from '../../../cel/cel-type.ts';
import { compileExpression } from '../../../cel/compile.ts';
import type { Environment } from '../../../cel/environment.ts';
import { kubernetesEnvironment } from '../../../cel/libraries/kubernetes.ts';
import { Issues } from '../../../cel/source.ts';
import { CelError, CelList, type Value } from '../../../cel/value.ts';
import type { CompileExpression } from './claim-expressions.ts';
import { claimValue } from './claim-values.ts';

const userType = structType('kubernetes.UserInfo');
const userFields = new Map([
  ['username', stringType],
  ['uid', stringType],
  ['groups', listOf(stringType)],
  ['extra', mapOf(stringType, listOf(stringType))],
]);

const environments: Readonly<Record<'claims' | 'user', Environment>> = {
  claims: kubernetesEnvironment.extend({ variables: { claims: mapOf(stringType, dynType) } }),
  user: kubernetesEnvironment.extend({
    variables: { user: userType },
    types: {
      findType: (name) => (name === userType.name ? userType : undefined),
      findField: (name, field) => (name === userType.name ? userFields.get(field) : undefined),
    },
  }),
};

/** Upstream bounds what one expression may cost while it runs. */
const cost = 1_000_000;

/** What a mapping can use; anything else is itself, which no mapping takes for a text. */
function plain(value: Value): unknown {
  return value instanceof CelList ? Array.from({ length: value.size }, (_, i) => plain(value.at(i))) : value;
}

export const compileClaimExpression: CompileExpression = (expression, variable, result) => {
  const checked = compileExpression(expression, environments[variable]);
  if (checked instanceof Issues) throw new Error(`compilation failed: ${checked}`);
  if (result === 'bool' && checked.type !== boolType) throw new Error('must evaluate to bool');
  const program = checked.program();
  return (value) => {
    const outcome = program.run({ [variable]: claimValue(value as JsonObject) }, { cost }).value;
    if (outcome instanceof CelError)
      throw new Error(`expression '${expression}' resulted in error: ${outcome.message}`);
    return plain(outcome);
  };
};
