// Who decides about a certificate request decides by `approval` only; who signs it writes the certificate, once.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { objs, semanticEqual, status, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';

const conditionsOf = (request: JsonObject, type: string): JsonObject[] =>
  objs(status(request)['conditions']).filter((c) => c['type'] === type);

function decisionErrors(request: JsonObject, old: JsonObject, subresource: string): Errors {
  const at = 'status.conditions';
  const errors: Errors = [];
  for (const type of ['Approved', 'Denied', 'Failed']) {
    const before = conditionsOf(old, type);
    const now = conditionsOf(request, type);
    const decision = type !== 'Failed' && subresource !== 'approval';
    if (now.length < before.length)
      errors.push(forbidden(at, `updates may not remove a condition of type ${JSON.stringify(type)}`));
    else if (decision && now.length > before.length)
      errors.push(forbidden(at, `updates may not add a condition of type ${JSON.stringify(type)}`));
    else if (decision && !semanticEqual(now, before))
      errors.push(forbidden(at, `updates may not modify a condition of type ${JSON.stringify(type)}`));
  }
  const undecided = (r: JsonObject): boolean =>
    ['Approved', 'Denied'].some((type) => conditionsOf(r, type).length === 0);
  if (!undecided(request) && undecided(old)) {
    const all = objs(status(request)['conditions']);
    const second = all.findLastIndex((c) => c['type'] === 'Approved' || c['type'] === 'Denied');
    const why = 'Approved and Denied conditions are mutually exclusive';
    errors.push(invalid(`${at}[${second}].type`, str(all[second]?.['type']), why));
  }
  return errors;
}

export function validateRequestUpdate(request: JsonObject, old: JsonObject, subresource: string): Errors {
  const errors = decisionErrors(request, old, subresource);
  const [now, before] = [str(status(request)['certificate']), str(status(old)['certificate'])];
  if (now === before) return errors;
  if (subresource !== 'status')
    errors.push(forbidden('status.certificate', 'updates may not set certificate content'));
  else if (before !== '')
    errors.push(forbidden('status.certificate', 'updates may not modify existing certificate content'));
  return errors;
}
