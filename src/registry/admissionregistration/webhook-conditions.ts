// Match conditions of webhooks are compiled before they are stored; those that were there already are not looked at again.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { nameOf, objs, str } from '../../apimachinery/json-access.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';

const expressionsOf = (configuration: JsonObject): string[] =>
  objs(configuration['webhooks']).flatMap((webhook) =>
    objs(webhook['matchConditions']).map(({ expression }) => str(expression)),
  );

/** Throws 422. An empty expression has its own fault. */
async function assertCompiled(
  kind: Pick<ResourceDeclaration, 'group' | 'kind'>,
  configuration: JsonObject,
  known: readonly string[],
): Promise<undefined> {
  if (expressionsOf(configuration).length === 0) return;
  const { compiledCondition } = await import('../../apiserver/admission/expressions.ts');
  const errors: FieldError[] = [];
  objs(configuration['webhooks']).forEach((webhook, i) => {
    objs(webhook['matchConditions']).forEach((condition, j) => {
      const expression = str(condition['expression']);
      if (expression.trim() === '' || known.includes(expression)) return;
      const { fault } = compiledCondition(expression);
      if (fault === '') return;
      errors.push(invalid(`webhooks[${i}].matchConditions[${j}].expression`, expression, fault));
    });
  });
  if (errors.length > 0) throw invalidObject(kind, nameOf(configuration), errors);
}

export const webhookConditions = (kind: string): RestHandler => {
  const of = { group: 'admissionregistration.k8s.io', kind };
  return {
    hooks: {
      beforeCreate: (object) => assertCompiled(of, object, []),
      beforeUpdate: (object, old) => assertCompiled(of, object, expressionsOf(old)),
    },
  };
};
