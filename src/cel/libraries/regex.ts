// Kubernetes' regex library: the parts of a text that match a pattern.
import { intType, listOf, stringType } from '../cel-type.ts';
import type { Library } from '../declarations.ts';
import { searchedText } from '../library-costs.ts';
import { ask, refuseNoPattern, tooDear } from '../patterns.ts';
import { CelError, type Value, ValueList } from '../value.ts';

const found = (text: string, pattern: string, most: number): string[] | CelError => {
  const parts = ask(pattern, text, (compiled) => compiled.find(text, most));
  return parts instanceof CelError && !parts.message.startsWith('operation cancelled')
    ? new CelError(`Illegal regex: ${parts.message}`)
    : parts;
};
/** A part is found in about a microsecond, and a text may have a million of them. */
const mostFound = 100_000;

const findAll = (text: string, pattern: string, most: bigint): Value => {
  const wanted = most < 0n || most > mostFound ? mostFound + 1 : Number(most);
  const parts = found(text, pattern, wanted);
  if (parts instanceof CelError) return parts;
  return parts.length > mostFound ? tooDear : new ValueList(parts);
};

export const regexLibrary: Library = {
  name: 'kubernetes.regex',
  functions: [
    {
      name: 'find',
      overloads: [
        {
          id: 'string_find_string',
          member: true,
          params: [stringType, stringType],
          result: stringType,
          call: (text: string, pattern: string) => {
            const parts = found(text, pattern, 1);
            return parts instanceof CelError ? parts : (parts[0] ?? '');
          },
        },
      ],
      specialize: refuseNoPattern,
      ...searchedText,
    },
    {
      name: 'findAll',
      overloads: [
        {
          id: 'string_find_all_string',
          member: true,
          params: [stringType, stringType],
          result: listOf(stringType),
          call: (text: string, pattern: string) => findAll(text, pattern, -1n),
        },
        {
          id: 'string_find_all_string_int',
          member: true,
          params: [stringType, stringType, intType],
          result: listOf(stringType),
          call: findAll,
        },
      ],
      specialize: refuseNoPattern,
      ...searchedText,
    },
  ],
};
