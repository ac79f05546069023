// What an emulated node's registry says: a lean Wine, and the Windows version that the node was given.
import type { WindowsVersion } from '../../component-helpers/windows-image-match.ts';
import type { RegistryFile } from './registry-file.ts';

const windowsNt = 'Software\\Microsoft\\Windows NT\\CurrentVersion';
/** Without them a container has four processes instead of seven and starts in a third of the time. */
const servicesOff = ['PlugPlay', 'Eventlog', 'winebus', 'winehid', 'wineusb', 'NDIS'];
const disabled = 4;

/** Wine 10 keeps the settings in ControlSet001, to which CurrentControlSet is a link. */
function controlSet(system: RegistryFile): string {
  const inFirst = system.keysBelow('System\\ControlSet001\\').length > 0;
  return inFirst ? 'System\\ControlSet001' : 'System\\CurrentControlSet';
}

/** The part that all Windows versions share. */
export function makeLean(system: RegistryFile, user: RegistryFile): void {
  const control = controlSet(system);
  for (const service of servicesOff) system.set(`${control}\\Services\\${service}`, 'Start', disabled);
  for (const key of ['ROOT\\WINE', 'HID', 'WINEBUS']) system.delete(`${control}\\Enum\\${key}`);
  // A crash must end the program: the default debugger waits for ever for a screen.
  system.set(`${windowsNt}\\AeDebug`, 'Auto', '1');
  system.set(`${windowsNt}\\AeDebug`, 'Debugger', '');
  system.delete('Software\\Wow6432Node\\Microsoft\\Windows NT\\CurrentVersion\\AeDebug');
  for (const name of ['TEMP', 'TMP']) {
    user.set('Environment', name, { expand: '%USERPROFILE%\\AppData\\Local\\Temp' });
  }
  // Left by the run that made the template; each start sets them for its own user.
  user.delete('Volatile Environment');
  system.set(`${windowsNt}\\ProfileList`, 'ProfilesDirectory', { expand: 'C:\\Users' });
  system.set(`${windowsNt}\\ProfileList`, 'Public', { expand: 'C:\\Users\\Public' });
  user.set('Software\\Wine\\Drivers', 'Graphics', 'null');
  user.delete('Software\\Wine\\Fonts\\External Fonts');
}

/** What programs see as their Windows. */
export function setVersion(system: RegistryFile, version: WindowsVersion): void {
  const control = controlSet(system);
  const build = String(version.build);
  const values: Readonly<Record<string, string | number>> = {
    // Not "6.3" as on real Windows: Wine would then report 6.3 to programs.
    CurrentVersion: '10.0',
    CurrentMajorVersionNumber: 10,
    CurrentMinorVersionNumber: 0,
    CurrentBuild: build,
    CurrentBuildNumber: build,
    UBR: version.revision,
    CSDVersion: '',
    ProductName: version.productName,
    ReleaseId: version.releaseId,
    DisplayVersion: version.displayVersion,
    EditionID: 'ServerDatacenter',
    InstallationType: 'Server Core',
    BuildLabEx: `${build}.1.amd64fre.emulated`,
  };
  for (const [name, value] of Object.entries(values)) system.set(windowsNt, name, value);
  system.set(`${control}\\Control\\ProductOptions`, 'ProductType', 'ServerNT');
  system.set(`${control}\\Control\\Windows`, 'CSDVersion', 0);
  system.set(`${control}\\Control`, 'ContainerType', 2);
}

/** Wine prefers its own program or library of a name unless told otherwise. */
export function preferOwn(user: RegistryFile, fileNames: Iterable<string>): void {
  for (const name of fileNames) {
    user.set('Software\\Wine\\DllOverrides', `*${name.replace(/\.dll$/, '')}`, 'native');
  }
}
