// Faults of a policy's expressions. Loads the language.
import type {
  MutatingAdmissionPolicy,
  ValidatingAdmissionPolicy,
} from '../../api/generated/types/admissionregistration-v1.ts';
import type { Decoded } from '../../apimachinery/decoded.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { type CompiledExpression, ExpressionCompiler } from '../../apiserver/admission/expressions.ts';
import { boolType, type CelType, nullType, stringType } from '../../cel/cel-type.ts';
import { mutationResults } from '../../cel/mutation-values.ts';
import { threadTurns } from '../../component-base/thread-turns.ts';

type Policy = Decoded<ValidatingAdmissionPolicy> & Decoded<MutatingAdmissionPolicy>;

const internal = (field: string, why: string): FieldError => ({
  type: 'InternalError',
  field,
  message: `Internal error: ${why}`,
});

export async function policyExpressionErrors({ spec = {} }: Policy): Promise<FieldError[]> {
  const { variables = [], matchConditions = [], validations = [], auditAnnotations = [] } = spec;
  const errors: FieldError[] = [];
  const params = spec.paramKind !== undefined;
  const usual = { params, authorizer: true };
  const plain = new ExpressionCompiler();
  const compiler = variables.length === 0 ? plain : new ExpressionCompiler({ composed: true });
  /** Nothing is said of an expression that is not there: that is another fault. Others have a turn between two of them. */
  const look = async (
    field: string,
    text: string | undefined,
    compile: (text: string) => CompiledExpression,
  ): Promise<void> => {
    if ((text ?? '').trim() === '') return;
    const { fault, isInternal } = compile(text!);
    if (fault !== '') errors.push(isInternal ? internal(field, fault) : invalid(field, text, fault));
    await threadTurns.take();
  };
  const wanting =
    (wanted: readonly CelType[], vocabulary: object = usual, by = compiler) =>
    (text: string): CompiledExpression =>
      by.compile(text, vocabulary, wanted);

  for (const [i, { expression }] of matchConditions.entries())
    await look(
      `spec.matchConditions[${i}].expression`,
      expression?.trim(),
      wanting([boolType], usual, plain),
    );
  for (const [i, { name = '', expression }] of variables.entries())
    await look(`spec.variables[${i}].expression`, expression, (text) => compiler.declare(name, text, usual));
  for (const [i, { expression, messageExpression }] of validations.entries()) {
    await look(`spec.validations[${i}].expression`, expression, wanting([boolType]));
    await look(
      `spec.validations[${i}].messageExpression`,
      messageExpression,
      wanting([stringType], { params }),
    );
  }
  for (const [i, { valueExpression }] of auditAnnotations.entries())
    await look(
      `spec.auditAnnotations[${i}].valueExpression`,
      valueExpression?.trim(),
      wanting([stringType, nullType]),
    );
  for (const [i, { patchType, applyConfiguration, jsonPatch }] of (spec.mutations ?? []).entries()) {
    const [own, of] =
      patchType === 'JSONPatch'
        ? (['jsonPatch', jsonPatch] as const)
        : (['applyConfiguration', applyConfiguration] as const);
    const wanted = [mutationResults[own]];
    await look(
      `spec.mutations[${i}].${own}.expression`,
      of?.expression,
      wanting(wanted, { ...usual, patches: true }),
    );
  }
  return errors;
}
