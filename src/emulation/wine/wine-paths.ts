// Where Wine and our programs lie in the root of every emulated container: read-only, the same for all of them.

/** Of Debian's libraries, below the root. */
export const libraries = 'usr/lib/x86_64-linux-gnu';
/** Wine's programs, its DLLs and its data, below the root. */
export const winePrograms = 'usr/lib/wine';
export const wineLibraries: string = `${libraries}/wine`;
export const wineData = 'usr/share/wine';
export const wineDlls: string = `${wineLibraries}/x86_64-windows`;
export const wineDlls32: string = `${wineLibraries}/i386-windows`;
export const wineUnixParts: string = `${wineLibraries}/x86_64-unix`;

export const wine: string = `/${winePrograms}/wine64`;
export const wineServer: string = `/${winePrograms}/wineserver64`;

/** Where a prefix is mounted, and drive C: in it. */
export const winePrefix = '/wp';
export const driveC: string = `${winePrefix}/drive_c`;

/** Where our own programs are mounted. */
export const ownPrograms = '/.porthole';
/** A file of the root as Wine names it. */
const unixPath = (path: string): string => `\\\\?\\unix${path.replaceAll('/', '\\')}`;

/** Before everything else: Linux programs are started from Wine's folders only. */
export const confine: string = `${ownPrograms}/confine`;
export const rawTerminal: string = `${ownPrograms}/rawtty`;
export const pinit: string = unixPath(`${ownPrograms}/pinit.exe`);
export const ctrl: string = unixPath(`${ownPrograms}/ctrl.exe`);

/** Where a container's first process leaves its full exit code. */
export const exitCodeMount = '/run/porthole/exit-code';
export const exitCodePath: string = unixPath(exitCodeMount);

/** Set for Wine itself; a container's first process takes them away again before the program starts. */
export const wineEnvironment: readonly string[] = [
  'PATH=/usr/bin',
  'HOME=/root',
  'LANG=C.UTF-8',
  `WINEPREFIX=${winePrefix}`,
  'WINEDEBUG=-all',
  `WINESERVER=${wineServer}`,
  `WINELOADER=${wine}`,
];
