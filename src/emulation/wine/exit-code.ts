// The full exit code of a container, as the first process in it left it. The container can write to that file what it likes.
import { exitCodeFile, parseExitCode } from '../../component-helpers/emulated-windows.ts';
import type { Files } from '../../os/files.ts';

/** Ten digits and a line end; who writes more says nothing. */
export const maxExitCodeBytes = 16;

const isContainerId = (id: string): boolean => /^[0-9a-f]+$/.test(id);

/** Undefined when there is no code, or what is there can't be one. */
export async function readExitCode(
  files: Pick<Files, 'readHead'>,
  stateDir: string,
  containerId: string,
): Promise<number | undefined> {
  if (!isContainerId(containerId)) return undefined;
  const head = await files.readHead(exitCodeFile(stateDir, containerId), maxExitCodeBytes);
  return head && parseExitCode(head.toString('latin1'));
}

/** When the container is removed, nobody asks for its code again. */
export async function forgetExitCode(
  files: Pick<Files, 'remove'>,
  stateDir: string,
  containerId: string,
): Promise<void> {
  if (isContainerId(containerId)) await files.remove(exitCodeFile(stateDir, containerId));
}
