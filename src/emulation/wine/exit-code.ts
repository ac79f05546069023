// The full exit code of a container, as the first process in it left it. The container can write to that file what it likes.
import { exitCodeFile, parseExitCode } from '../../component-helpers/emulated-windows.ts';
import type { Files } from '../../os/files.ts';

/** Ten digits and a line end; who writes more says nothing. */
const maxBytes = 16;

/** Undefined when there is no code, or what is there can't be one. */
export async function readExitCode(
  files: Pick<Files, 'readHead'>,
  stateDir: string,
  containerId: string,
): Promise<number | undefined> {
  if (!/^[0-9a-f]+$/.test(containerId)) return undefined;
  const head = await files.readHead(exitCodeFile(stateDir, containerId), maxBytes);
  return head && parseExitCode(head.toString('latin1'));
}
