// Names of fields as expressions write them: `__dash__` for what no identifier can hold, `__namespace__` for reserved words.
import { isReservedWord } from './parser.ts';

const written: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** undefined for a name that cannot be written. */
export function escapeFieldName(name: string): string | undefined {
  if (!/^[A-Za-z0-9_./-]+$/.test(name) || /^[0-9]/.test(name)) return undefined;
  if (isReservedWord(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (found) => written[found]!);
}

const read: Readonly<Record<string, string>> = { underscores: '__', dot: '.', dash: '-', slash: '/' };

/** The field that a name means; undefined for none. */
export function unescapeFieldName(name: string): string | undefined {
  let isValid = true;
  const field = name.replace(/__([^_]+)__/g, (all: string, inner: string) => {
    if (Object.hasOwn(read, inner)) return read[inner]!;
    // A reserved word is all of the name.
    if (!isReservedWord(inner) || all.length !== name.length) isValid = false;
    return inner;
  });
  return isValid ? field : undefined;
}
