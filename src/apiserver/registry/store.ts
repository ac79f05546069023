// The generic registry of one resource: reads from its cache, writes under the rules of its strategy. It never names a kind.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { createObject } from './create-object.ts';
import { type DeleteOptions, type Deletion, deleteObject } from './delete-object.ts';
import { type Stored, StoredResource, type UpdateOptions, type WriteOptions } from './stored-resource.ts';
import { type UpdateOutcome, updateObject } from './update-object.ts';

const own: WriteOptions = { context: undefined, dryRun: false, subresource: '', fieldManager: '' };

export class ResourceStore extends StoredResource {
  create(namespace: string, object: JsonObject, options: WriteOptions = own): Promise<Stored> {
    return createObject(this, namespace, object, options);
  }
  /**
   * Reads, lets `change` make the new object (it may modify and return its argument) and writes; again when another
   * writer was faster. Throws 404 when it is missing and may not be created.
   */
  update(
    namespace: string,
    name: string,
    change: (current: JsonObject | undefined) => JsonObject | Promise<JsonObject>,
    options: Partial<UpdateOptions> = {},
  ): Promise<UpdateOutcome> {
    return updateObject(this, {
      namespace,
      name,
      change,
      ...own,
      authorizeCreate: undefined,
      ...options,
    });
  }
  delete(
    namespace: string,
    name: string,
    request: DeleteOptions,
    options: WriteOptions = own,
  ): Promise<Deletion> {
    return deleteObject(this, namespace, name, request, options);
  }
}
