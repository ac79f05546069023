// YAML, as kubectl reads it: 1.2 core schema, bounded aliases, duplicate keys refused.
import { parseAllDocuments, stringify } from 'yaml';

/** All documents of a text. Throws Error with line and column; alias bombs are refused. */
function parseYamlDocuments(text: string): unknown[] {
  return parseAllDocuments(text, { maxAliasCount: 100 } as object).map((document) => {
    const error = 'errors' in document ? document.errors[0] : undefined;
    if (error) throw error;
    return document.toJS({ maxAliasCount: 100 });
  });
}

export function parseYaml(text: string): unknown {
  const [first] = parseYamlDocuments(text);
  return first;
}

export const toYaml = (value: unknown): string =>
  stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
