// The types of into-place.mjs, which runs before anything reads types.
export const keptMs: number;
export function intoPlace(scratch: string, dist: string, keep: number): void;
export function scratchBeside(dist: string): string;
