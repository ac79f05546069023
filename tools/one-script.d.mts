// The types of one-script.mjs, which runs before anything reads types.
import type { Metafile } from 'esbuild';

export function intoOneScript(
  name: string,
  bundled: { readonly metafile: Metafile },
  folder: string,
  banner: string,
): Promise<void>;
