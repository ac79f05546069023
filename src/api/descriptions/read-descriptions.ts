// What types and fields of the built-in API are for: read when an OpenAPI document is made, so that a server that
// nobody asks for one holds none of it.
import { type Describe, parseDescriptionText } from '../../apimachinery/openapi/description-text.ts';
import { schemaSource } from '../schema-source.ts';

/** What is said of all kinds, and of all lists, stands once, under names that no type has. */
const metaTypes = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
const anyKind = `${metaTypes}AnyKind`;
const anyList = `${metaTypes}AnyList`;

export async function readDescriptions(): Promise<Describe> {
  const { descriptionTexts } = await import('./description-texts.ts');
  const known = new Map<string, string>();
  for (const [prefix, content] of descriptionTexts)
    for (const { types, field, text } of parseDescriptionText(content))
      for (const type of types) known.set(keyOf(prefix + type, field), text);
  return (type, field) => known.get(keyOf(type, field)) ?? known.get(keyOf(sharedBy(type, field), field));
}

const keyOf = (type: string, field: string | undefined): string =>
  field === undefined ? type : `${type}.${field}`;

/** Where a type has no line of its own. What a kind is, each says itself. */
function sharedBy(type: string, field: string | undefined): string {
  const schema = schemaSource.type(type);
  if (schema?.gvk === undefined) return type;
  if (type.endsWith('List') && schema.fields?.['items'] !== undefined) return anyList;
  return field === undefined ? type : anyKind;
}
