// Rules of metav1.Condition, for kinds whose status subresource holds clients to them.
import type { FieldError } from '../field-error.ts';
import { duplicate, invalid, notSupported, required, tooLong } from '../field-error.ts';
import { qualifiedNameErrors, regexError } from '../labels.ts';

interface SentCondition {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
  readonly observedGeneration?: number | bigint | undefined;
}

const statuses: readonly string[] = ['True', 'False', 'Unknown'];
const maxReason = 1024;
const maxMessage = 32 * 1024;
const reasonFormat = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?';
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
const isReason = (text: string): boolean => /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(text);
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

function reasonErrors(field: string, reason: string): FieldError[] {
  if (reason === '') return [required(field)];
  const errors: FieldError[] = [];
  if (!isReason(reason))
    errors.push(
      invalid(
        field,
        reason,
        regexError(
          reasonRule,
          reasonFormat,
          'my_name',
          'MY_NAME',
          'MyName',
          'ReasonA,ReasonB',
          'ReasonA:ReasonB',
        ),
      ),
    );
  if (bytesOf(reason) > maxReason) errors.push(tooLong(field, maxReason));
  return errors;
}

function conditionErrors(field: string, condition: SentCondition): FieldError[] {
  const type = condition.type ?? '';
  const status = condition.status ?? '';
  const errors = qualifiedNameErrors(type).map((why) => invalid(`${field}.type`, type, why));
  if (!statuses.includes(status)) errors.push(notSupported(`${field}.status`, status, statuses));
  if ((condition.observedGeneration ?? 0) < 0)
    errors.push(
      invalid(
        `${field}.observedGeneration`,
        condition.observedGeneration,
        'must be greater than or equal to zero',
      ),
    );
  if (!condition.lastTransitionTime) errors.push(required(`${field}.lastTransitionTime`));
  errors.push(...reasonErrors(`${field}.reason`, condition.reason ?? ''));
  if (bytesOf(condition.message ?? '') > maxMessage) errors.push(tooLong(`${field}.message`, maxMessage));
  return errors;
}

/** As upstream's ValidateConditions: of each type one, and each complete. */
export function conditionsErrors(field: string, conditions: readonly SentCondition[]): FieldError[] {
  const seen = new Set<string>();
  return conditions.flatMap((condition, i) => {
    const type = condition.type ?? '';
    const twice = seen.has(type) ? [duplicate(`${field}[${i}].type`, type)] : [];
    seen.add(type);
    return [...twice, ...conditionErrors(`${field}[${i}]`, condition)];
  });
}
