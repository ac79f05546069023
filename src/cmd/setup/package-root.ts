// Where the package lies: the folder of package.json, native/ and examples/, from the bundle as from the sources.
import { fileURLToPath, pathToFileURL } from 'node:url';

declare const PORTHOLE_BUNDLED: boolean | undefined;

/** True in the bundle that the launcher runs. */
const isBundled = (): boolean => typeof PORTHOLE_BUNDLED !== 'undefined' && PORTHOLE_BUNDLED;

/** Ends with a slash. */
export function packageRoot(): string {
  // dist/porthole.mjs, or src/cmd/setup/package-root.ts.
  return fileURLToPath(new URL(isBundled() ? '../' : '../../../', import.meta.url));
}

/** A program that is bundled as a file of its own beside the main one. */
export function entryFile(bundled: string, source: string): string {
  return `${packageRoot()}${isBundled() ? `dist/${bundled}.mjs` : source}`;
}

/** Where a command's own script would be, in the bundle. */
export function ownScript(command: string | undefined): string | undefined {
  return isBundled() && /^[a-z]+$/.test(command ?? '') ? `${packageRoot()}dist/${command}.cjs` : undefined;
}

/** Scripts of a server's threads, when they are bundled apart: its options name them. */
export function serverWorkers(): { workerUrls?: { readonly storage: URL; readonly yaml: URL } } {
  if (!isBundled()) return {};
  return {
    workerUrls: {
      storage: pathToFileURL(entryFile('sqlite-writer', 'src/storage/sqlite/sqlite-writer.ts')),
      yaml: pathToFileURL(entryFile('yaml-worker', 'src/component-base/yaml-worker.ts')),
    },
  };
}

/** Arguments for the pinned Node that run this command line again, in another process; with the launcher's flags. */
export const selfArguments = (): string[] => [...process.execArgv, entryFile('porthole', 'src/cmd/main.ts')];
