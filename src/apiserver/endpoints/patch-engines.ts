// The patch engines of apimachinery as the endpoints call them.
import type { Scheme } from '../../apimachinery/declaration.ts';
import { unsupportedMediaType } from '../../apimachinery/errors.ts';
import type { PatchEngines } from './endpoint.ts';

export function patchEngines(scheme: Scheme): PatchEngines {
  void scheme;
  const refuse = (): never => {
    throw unsupportedMediaType([]);
  };
  return { json: refuse, merge: refuse, strategic: refuse };
}
