// Names of signers: a domain and a path, `example.com/signer`.
import { type FieldError, invalid, required, tooLong } from '../../../apimachinery/field-error.ts';
import { dnsLabel, dnsSubdomain, type NameRule } from '../../../apimachinery/validation/names.ts';

const maxDomain = 253;
/** `<domain>/<namespace>.<name>` must fit. */
const maxName = maxDomain + 1 + 63 + 1 + 253;

/** What is wrong with the first part that is wrong: the others would say the same. */
function firstFault(at: string, part: string, rule: NameRule): FieldError[] {
  for (const label of part.split('.')) {
    const why = rule(label);
    if (why.length > 0)
      return why.map((text) => invalid(at, part, `validating label ${JSON.stringify(label)}: ${text}`));
  }
  return [];
}

/** Upstream's ValidateSignerName. */
export function signerNameErrors(at: string, name: string): FieldError[] {
  if (name === '') return [required(at)];
  const [domain = '', path = '', ...more] = name.split('/');
  if (more.length > 0 || !name.includes('/'))
    return [
      invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"),
    ];
  const errors: FieldError[] = [];
  if (domain.length > maxDomain) errors.push(tooLong(at, maxDomain));
  errors.push(...firstFault(at, domain, dnsLabel));
  if (!domain.includes('.'))
    errors.push(invalid(at, domain, 'should be a domain with at least two segments separated by dots'));
  errors.push(...firstFault(at, path, dnsSubdomain));
  if (name.length > maxName) errors.push(tooLong(at, maxName));
  return errors;
}
