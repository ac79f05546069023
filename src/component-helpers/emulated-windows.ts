// What the node agent and the Windows emulation agree on: names, not code.

/** Container annotation: the effective user (runAsUserName of container or pod, else the image's User). */
export const runAsUserNameAnnotation = 'porthole.dev/run-as-username';
/** Container annotation `true`: a HostProcess container, which an emulated node refuses. */
export const hostProcessAnnotation = 'porthole.dev/host-process';

/** Node label of every emulated node. */
export const emulatedNodeLabel = 'porthole.dev/emulated';

/** Node annotation: what keeps emulated pods apart from the machine, as its kernel allows. */
export const emulatedIsolationAnnotation = 'porthole.dev/emulated-isolation';

/** Handlers that containerd knows; the emulation serves both. */
export const windowsRuntimeHandlers = {
  process: 'runhcs-wcow-process',
  hyperv: 'runhcs-wcow-hypervisor',
} as const;

/** Where the handler leaves the full 32-bit exit code of a container, in its state folder: decimal text, empty until then. */
export const exitCodeFile = (handlerStateDir: string, containerId: string): string =>
  `${handlerStateDir}/exit-codes/${containerId}`;

/** Reads that file's text: the code as Windows shows it in a status, a signed 32-bit number. */
export function parseExitCode(text: string): number | undefined {
  if (!/^\d{1,10}\s*$/.test(text)) return undefined;
  return Number(text) | 0;
}
