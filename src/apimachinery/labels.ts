// What a label's key and value may look like, with upstream's explanations.

export type Labels = Readonly<Record<string, string | undefined>>;

export const regexError = (message: string, format: string, ...examples: string[]): string =>
  `${message} (e.g. ${examples.map((e) => `'${e}', `).join(' or ')}regex used for validation is '${format}')`;
/** Of keys and values; of other names upstream says `characters`, and counts bytes as well. */
const maxLength = (length: number): string => `must be no more than ${length} bytes`;

const qualifiedNameFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const qualifiedNameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const subdomainFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

// Linear in the text: no nested repetition.
const qualifiedName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const subdomainLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

const utf8 = new TextEncoder();
/** As Go counts: most names are short, and of one byte a character. */
export const isLonger = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && utf8.encode(text).length > bytes);

/** Why `text` is not a DNS-1123 subdomain; empty when it is one. */
export const dns1123SubdomainErrors = (text: string): string[] =>
  subdomainErrors(text, 'must be no more than 253 characters');

function subdomainErrors(text: string, tooLong: string): string[] {
  const errors: string[] = [];
  if (isLonger(text, 253)) errors.push(tooLong);
  if (text.length > 4096 || !text.split('.').every((label) => subdomainLabel.test(label)))
    errors.push(regexError(subdomainRule, subdomainFormat, 'example.com'));
  return errors;
}

/** Why `text` is not a qualified name (label key, annotation key, extended resource …); empty when it is one. */
export function qualifiedNameErrors(text: string): string[] {
  // Most names have no prefix and nothing wrong.
  if (text.length <= 63 && qualifiedName.test(text)) return [];
  const errors: string[] = [];
  const parts = text.split('/');
  let name = parts[0]!;
  if (parts.length > 2)
    return [
      `a valid label key ${regexError(qualifiedNameRule, qualifiedNameFormat, 'MyName', 'my.name', '123-abc')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  if (parts.length === 2) {
    const prefix = parts[0]!;
    name = parts[1]!;
    if (prefix === '') errors.push('prefix part must be non-empty');
    else errors.push(...subdomainErrors(prefix, maxLength(253)).map((e) => `prefix part ${e}`));
  }
  if (name === '') errors.push('name part must be non-empty');
  else if (isLonger(name, 63)) errors.push(`name part ${maxLength(63)}`);
  if (!qualifiedName.test(name))
    errors.push(
      `name part ${regexError(qualifiedNameRule, qualifiedNameFormat, 'MyName', 'my.name', '123-abc')}`,
    );
  return errors;
}

/** Why `value` is no label value; empty when it is one. */
export function labelValueErrors(value: string): string[] {
  const errors: string[] = [];
  if (isLonger(value, 63)) errors.push(maxLength(63));
  if (value !== '' && !qualifiedName.test(value))
    errors.push(regexError(labelValueRule, `(${qualifiedNameFormat})?`, 'MyValue', 'my_value', '12345'));
  return errors;
}

/** `a=b,c=d`, keys sorted. */
export const formatLabels = (labels: Labels): string =>
  Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key] ?? ''}`)
    .join(',');
