// The types of layers.mjs, for tests that read it.
export const layers: Readonly<Record<string, readonly string[] | '*'>>;
export const pure: readonly string[];
export const builtins: Readonly<Record<string, readonly string[]>>;
export const packages: Readonly<Record<string, string>>;
export const flat: readonly (readonly [folder: string, files: string])[];
