// Field selectors: `metadata.name=x,status.phase!=Running`, with upstream's escapes and errors.

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** All that is asked of one field, put together. */
interface FieldRule {
  readonly wanted: Set<string>;
  readonly refused: Set<string>;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** Of a selector of many terms: an object costs as much as there are fields, and not as there are terms. */
  readonly byField?: ReadonlyMap<string, FieldRule>;
}

/** Fewer terms are tried one after the other: that is faster. */
const fewTerms = 16;

function rulesOf(requirements: readonly FieldRequirement[]): ReadonlyMap<string, FieldRule> {
  const rules = new Map<string, FieldRule>();
  for (const { field, operator, value } of requirements) {
    const rule = rules.get(field) ?? { wanted: new Set(), refused: new Set() };
    rules.set(field, rule);
    (operator === '=' ? rule.wanted : rule.refused).add(value);
  }
  return rules;
}

/** A watch keeps them as long as it lasts. */
const maxTerms = 500;

/** Throws Error with upstream's message. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  const terms = splitTerms(text).sort();
  if (terms.length > maxTerms)
    throw new Error(`the limit is ${maxTerms} terms in one field selector; ask several times`);
  for (const term of terms) {
    if (term === '') continue;
    const parts = splitTerm(term);
    if (parts === undefined) throw new Error(`invalid selector: '${text}'; can't understand '${term}'`);
    requirements.push({ ...parts, value: unescapeFieldValue(parts.value) });
  }
  return selectorOf(requirements);
}

const selectorOf = (requirements: readonly FieldRequirement[]): FieldSelector =>
  requirements.length <= fewTerms ? { requirements } : { requirements, byField: rulesOf(requirements) };

/** The same by other names: each field's is in `names`, or stays. */
export function renameFields(
  { requirements }: FieldSelector,
  names: ReadonlyMap<string, string>,
): FieldSelector {
  return selectorOf(requirements.map((one) => ({ ...one, field: names.get(one.field) ?? one.field })));
}

function splitTerms(text: string): string[] {
  if (text === '') return [];
  const terms: string[] = [];
  let start = 0;
  let escaped = false;
  for (let i = 0; i < text.length; i++) {
    if (escaped) escaped = false;
    else if (text[i] === '\\') escaped = true;
    else if (text[i] === ',') {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function splitTerm(term: string): FieldRequirement | undefined {
  for (let i = 0; i < term.length; i++) {
    const field = term.slice(0, i);
    if (term.startsWith('!=', i)) return { field, operator: '!=', value: term.slice(i + 2) };
    if (term.startsWith('==', i)) return { field, operator: '=', value: term.slice(i + 2) };
    if (term[i] === '=') return { field, operator: '=', value: term.slice(i + 1) };
  }
  return undefined;
}

function unescapeFieldValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  let value = '';
  for (let i = 0; i < text.length; i++) {
    const ch = text[i]!;
    if (ch === '\\') {
      const next = text[++i];
      if (next !== '\\' && next !== ',' && next !== '=')
        throw new Error(`invalid field selector: invalid escape sequence: \\${next ?? ''}`);
      value += next;
    } else if (ch === ',' || ch === '=') {
      // Upstream prints the number of the character.
      throw new Error(`invalid field selector: unescaped character in value: ${ch.charCodeAt(0)}`);
    } else {
      value += ch;
    }
  }
  return value;
}

/** A field that is missing counts as empty, as upstream. */
export function matchesFieldSelector(
  selector: FieldSelector,
  fields: Readonly<Record<string, string | undefined>>,
): boolean {
  const fieldValue = (field: string): string =>
    (Object.hasOwn(fields, field) ? fields[field] : undefined) ?? '';
  if (selector.byField !== undefined) {
    for (const [field, { wanted, refused }] of selector.byField) {
      const actual = fieldValue(field);
      if (refused.has(actual)) return false;
      if (wanted.size > 0 && (wanted.size > 1 || !wanted.has(actual))) return false;
    }
    return true;
  }
  for (const { field, operator, value } of selector.requirements) {
    const actual = fieldValue(field);
    if ((actual === value) !== (operator === '=')) return false;
  }
  return true;
}

/** The value that `field` must equal, when the selector says so. */
export const exactFieldValue = (selector: FieldSelector, field: string): string | undefined =>
  selector.requirements.find((r) => r.field === field && r.operator === '=')?.value;
