// Changes parts of a YAML text and keeps the rest: comments, order, quoting, what nobody here knows.
import { parseDocument } from 'yaml';
import { parseYaml } from './yaml.ts';

type Path = readonly (string | number)[];

export interface YamlText {
  /** Undefined when nothing is there. */
  get(path: Path): unknown;
  set(path: Path, value: unknown): void;
  delete(path: Path): void;
  text(): string;
}

/** Throws Error with line and column. One document; what is empty becomes a map. */
export function editYaml(text: string): YamlText {
  parseYaml(text); // its bounds hold here, too
  const document = parseDocument(text, { uniqueKeys: false, logLevel: 'error' });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(error.message);
  // As kubectl writes them: a list's dashes stand below its key's first letter.
  const indentSeq = !/^\S.*:\n- /m.test(text);
  return {
    get: (path) => valueAt(document.toJS({ maxAliasCount: 100 }), path),
    set: (path, value) => document.setIn(path, value),
    delete: (path) => void document.deleteIn(path),
    text: () => document.toString({ lineWidth: 0, indentSeq }),
  };
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, key) => (at as Record<string | number, unknown> | null | undefined)?.[key],
    value,
  );
