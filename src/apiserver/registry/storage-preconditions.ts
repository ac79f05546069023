// What a write asks of the object that is there, refused in the words of upstream's storage.
import type { Json, JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { conflict, type StatusError } from '../../apimachinery/errors.ts';
import { str } from '../../apimachinery/json-access.ts';

export interface WrittenPlace {
  readonly declaration: ResourceDeclaration;
  readonly namespace: string;
  readonly name: string;
}

export function preconditionFailed({ declaration, namespace, name }: WrittenPlace, why: string): StatusError {
  const { group, resource } = declaration.storage;
  const place = namespace === '' ? name : `${namespace}/${name}`;
  const key = `/registry/${group.includes('.') ? `${group}/` : ''}${resource}/${place}`;
  return conflict(
    declaration,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${why}`,
  );
}

/** What is empty, or not there, is not asked. */
export function checkStoragePreconditions(
  place: WrittenPlace,
  metadata: JsonObject,
  asked: { readonly uid?: Json | undefined; readonly resourceVersion?: Json | undefined },
): void {
  const [uid, revision] = [str(asked.uid), str(asked.resourceVersion)];
  const [ownUid, ownRevision] = [str(metadata['uid']), str(metadata['resourceVersion'])];
  if (uid !== '' && uid !== ownUid)
    throw preconditionFailed(place, `UID in precondition: ${uid}, UID in object meta: ${ownUid}`);
  if (revision !== '' && revision !== ownRevision)
    throw preconditionFailed(
      place,
      `ResourceVersion in precondition: ${revision}, ResourceVersion in object meta: ${ownRevision}`,
    );
}
