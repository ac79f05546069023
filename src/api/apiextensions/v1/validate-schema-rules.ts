// x-kubernetes-validations: the texts around an expression.
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { objs, str } from '../../../apimachinery/json-access.ts';
import { fieldInSchema } from '../../../apimachinery/structural/field-in-schema.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];
const hasNewline = (text: string): boolean => /[\n\r]/.test(text);

export function ruleTextErrors(schema: JsonObject, path: string): Errors {
  return objs(schema['x-kubernetes-validations']).flatMap((rule, i) => {
    const at = `${path}.x-kubernetes-validations[${i}]`;
    return [...messageErrors(rule, at), ...placeErrors(rule, at, schema)];
  });
}

function messageErrors(rule: JsonObject, at: string): Errors {
  const errors: Errors = [];
  const message = str(rule['message']);
  const text = str(rule['rule']).trim();
  if (text === '') errors.push(required(`${at}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(invalid(`${at}.message`, message, 'must be non-empty if specified'));
  else if (hasNewline(message.trim()))
    errors.push(invalid(`${at}.message`, message, 'must not contain line breaks'));
  else if (hasNewline(text) && message.trim() === '')
    errors.push(required(`${at}.message`, 'message must be specified if rule contains line breaks'));
  const expression = str(rule['messageExpression']);
  if (expression !== '' && expression.trim() === '')
    errors.push(required(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'));
  return errors;
}

function placeErrors(rule: JsonObject, at: string, schema: JsonObject): Errors {
  const errors: Errors = [];
  const reason = rule['reason'];
  if (reason !== undefined && !reasons.includes(str(reason)))
    errors.push(notSupported(`${at}.reason`, reason, reasons));
  const fieldPath = str(rule['fieldPath']);
  if (fieldPath === '') return errors;
  if (fieldPath.trim() === '')
    errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must be non-empty if specified'));
  if (hasNewline(fieldPath))
    errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must not contain line breaks'));
  if ('error' in fieldInSchema(fieldPath, schema, { brackets: true }))
    errors.push(invalid(`${at}.fieldPath`, fieldPath, 'must be a valid path'));
  return errors;
}
