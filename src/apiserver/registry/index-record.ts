// What selectors may ask of an object, whatever its kind.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { meta, obj, str } from '../../apimachinery/json-access.ts';
import type { IndexRecord } from '../../storage/watch/resource-cache.ts';

export function indexRecord(declaration: ResourceDeclaration, object: JsonObject): IndexRecord {
  const metadata = meta(object);
  const name = str(metadata['name']);
  const namespace = str(metadata['namespace']);
  return {
    namespace,
    name,
    uid: str(metadata['uid']),
    labels: obj(metadata['labels']) as Readonly<Record<string, string>>,
    fields: {
      ...declaration.selectableFields(object),
      'metadata.name': name,
      'metadata.namespace': namespace,
    },
  };
}
