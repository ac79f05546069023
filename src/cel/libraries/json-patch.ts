// Kubernetes' JSON patch library: keys as paths of a patch write them.
import { stringType } from '../cel-type.ts';
import type { Library } from '../declarations.ts';
import { readingCosts } from '../library-costs.ts';

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** For expressions that make patches alone. */
export const jsonPatchLibrary: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [
    {
      name: 'jsonpatch.escapeKey',
      overloads: [
        {
          id: 'string_jsonpatch_escapeKey_string',
          params: [stringType],
          result: stringType,
          call: escaped,
        },
      ],
      ...readingCosts(1, true),
    },
  ],
};
