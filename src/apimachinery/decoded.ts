// What a type is once a body was read as it.

/**
 * `T` as decoding leaves it: what is there has the type of its field, or the body was refused; but nothing says that a
 * field is there, not even a required one. Rules and defaults read it plainly, and ask only whether it is there.
 */
export type Decoded<T> = T extends string | number | bigint | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? Decoded<Item>[]
    : T extends object
      ? { [Key in keyof T]?: Decoded<T[Key]> | undefined }
      : T;

/** The part at `key`, made when it is missing. */
export function ensured<T extends object, Key extends keyof T>(object: T, key: Key): NonNullable<T[Key]> {
  const part = object[key] ?? ({} as NonNullable<T[Key]>);
  object[key] = part;
  return part;
}
