// Leaves out counts of zero where upstream's encoding does, so that statuses read the same.

export function omitZeros<S extends object>(status: S, ...fields: readonly (keyof S)[]): S {
  const result = { ...status };
  for (const field of fields) if (result[field] === 0) delete result[field];
  return result;
}
