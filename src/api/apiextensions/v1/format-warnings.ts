// Formats in the schemas of a definition that say nothing, for nobody knows them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { str } from '../../../apimachinery/json-access.ts';
import { isKnownFormat } from '../../../apimachinery/structural/formats.ts';
import type { CustomResourceDefinition } from '../../generated/types/apiextensions-v1.ts';
import { hasSchema } from './schema-walk.ts';

function unknownFormats({ spec }: Decoded<CustomResourceDefinition>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { schema } of spec?.versions ?? [])
    hasSchema(schema?.openAPIV3Schema as JsonObject | undefined, (one) => {
      const format = str(one['format']);
      if (format !== '' && !isKnownFormat(format, str(one['type']))) found.add(format);
      return false;
    });
  return found;
}

/** An update is told only of those that it adds. */
export function formatWarnings(
  crd: Decoded<CustomResourceDefinition>,
  old: Decoded<CustomResourceDefinition> | undefined,
): string[] {
  const before = old === undefined ? new Set<string>() : unknownFormats(old);
  return [...unknownFormats(crd).difference(before)].map(
    (format) => `unrecognized format ${JSON.stringify(format)}`,
  );
}
