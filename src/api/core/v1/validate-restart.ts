// When a container is started again: its own policy, and rules by its exit code.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { notSupported, required, tooLong } from '../../../apimachinery/field-error.ts';
import { type Errors, oneOf } from '../../../apimachinery/validation/checks.ts';
import type { Container } from '../../generated/types/core-v1.ts';

const policies = ['Always', 'Never', 'OnFailure'];
const operators = ['In', 'NotIn'];
const maxRules = 20;
const maxCodes = 255;

/** Of a container, and of an init container that is no sidecar. */
export function restartErrors(container: Decoded<Container>, at: string): Errors {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy === undefined && rules.length === 0) return [];
  const field = `${at}.restartPolicyRules`;
  const errors: Errors =
    policy === undefined
      ? [required(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used')]
      : oneOf(`${at}.restartPolicy`, policy, policies);
  if (rules.length > maxRules) errors.push(tooLong(field, maxRules));
  rules.forEach(({ action = '', exitCodes }, i) => {
    if (action !== 'Restart') errors.push(notSupported(`${field}[${i}].action`, action, ['Restart']));
    const codes = `${field}[${i}].exitCodes`;
    if (exitCodes === undefined) errors.push(required(codes, 'must be specified'));
    else errors.push(...oneOf(`${codes}.operator`, exitCodes.operator, operators));
    if ((exitCodes?.values ?? []).length > maxCodes) errors.push(tooLong(`${codes}.values`, maxCodes));
  });
  return errors;
}
