// What one object has in common with another is held once: pods of a template, and versions of one object.

type Members = Record<string, unknown>;

/**
 * `value`, in which each part that `like` has at the same place is replaced by that of `like`; or `like` itself, when all of it is the
 * same. `value` must be nobody else's yet, and `like` must not be changed by anybody.
 */
export function sharing(value: unknown, like: unknown): unknown {
  if (value === like) return like;
  if (typeof value !== 'object' || typeof like !== 'object' || value === null || like === null) return value;
  if (Array.isArray(value)) return Array.isArray(like) ? sharingElements(value, like) : value;
  return Array.isArray(like) ? value : sharingMembers(value as Members, like as Members);
}

function sharingElements(value: unknown[], like: readonly unknown[]): readonly unknown[] {
  let isSame = value.length === like.length;
  for (let i = 0; i < value.length && i < like.length; i++) {
    const shared = sharing(value[i], like[i]);
    if (shared === like[i]) value[i] = shared;
    else isSame = false;
  }
  return isSame ? like : value;
}

function sharingMembers(value: Members, like: Members): Members {
  let isSame = true;
  let count = 0;
  for (const key in value) {
    count++;
    const isShared = Object.hasOwn(like, key) && sharing(value[key], like[key]) === like[key];
    if (isShared) value[key] = like[key];
    else isSame = false;
  }
  for (const _ in like) count--;
  return isSame && count === 0 ? like : value;
}
